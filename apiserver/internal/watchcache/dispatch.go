package watchcache

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/store"
)

// decode makes an entry from a stored value.
func (c *Cache) decode(kv store.KeyValue) (*Entry, error) {
	var obj runtime.Object
	if w := c.pending.take(kv.Key, kv.Value); w != nil {
		obj = w.Stored(kv.ModRevision)
	} else {
		var err error
		if obj, err = c.cfg.Decode(kv); err != nil {
			return nil, fmt.Errorf("decoding %s at revision %d for the watch cache: %w", kv.Key, kv.ModRevision, err)
		}
	}
	entry := &Entry{Key: kv.Key, Revision: kv.ModRevision, id: lastID.Add(1), size: len(kv.Value)}
	entry.Labels, entry.Fields = c.cfg.Attrs(obj)
	if c.cfg.Packed != nil {
		if packedFields, ok := c.cfg.Packed(kv.Value); ok {
			entry.Fields, entry.packed = packedFields, &packed{kv.Value, c.cfg.Decode}
			return entry, nil
		}
	}
	entry.object = obj
	return entry, nil
}

// dispatch applies a batch to the snapshot and the ring and queues it for the watchers,
// in one critical section, and wakes the waiters for its revision.
func (c *Cache) dispatch(batch store.Batch) error {
	if batch.Revision < c.rev {
		return nil
	}
	changes := make([]*change, 0, len(batch.Events))
	now := c.cfg.Clock.Now()
	for i := range batch.Events {
		event := &batch.Events[i]
		if event.KeyValue.ModRevision <= c.rev {
			continue
		}
		ch := &change{revision: event.KeyValue.ModRevision, at: now, withRevision: c.cfg.WithRevision}
		if event.Type == store.Delete {
			ch.previous = &Entry{Key: event.KeyValue.Key} // apply replaces it with the entry in the snapshot
		} else {
			entry, err := c.decode(event.KeyValue)
			if err != nil {
				return err
			}
			ch.entry = entry
		}
		changes = append(changes, ch)
	}
	if c.cfg.BeforeEvents != nil && len(changes) > 0 {
		c.cfg.BeforeEvents()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range changes {
		c.apply(ch)
	}
	c.ring.expire(now) // a batch without events shows progress
	c.flush()
	c.rev = batch.Revision
	c.changed.Store(c.lastChange)
	c.wake(c.rev)
	c.settle()
	if c.isBookmarkDue.IsSet() {
		c.sendBookmarks()
	}
	return nil
}

// apply applies one change to the snapshot and the ring, and stages its event for each
// watcher that it concerns. The caller holds mu.
func (c *Cache) apply(ch *change) {
	previous := c.snapshot.get(ch.key())
	c.lastChange = ch.revision
	if ch.entry == nil && previous == nil {
		return // deleted twice within one revision: no watcher has seen it
	}
	ch.previous = previous
	if previous != nil {
		previous.replace()
	}
	if ch.entry == nil {
		c.snapshot.remove(previous.Key)
	} else {
		c.snapshot.put(ch.entry)
		ch.sameLabels = previous != nil && maps.Equal(previous.Labels, ch.entry.Labels)
	}
	if ch.revision > c.forgotten.Load() {
		c.ring.add(ch)
	} else {
		c.ring.reset(ch.revision)
	}
	c.watchers.each(ch, func(w *Watcher) {
		if ch.revision <= w.sent {
			return // the watch starts at a later revision
		}
		event, ok := w.filter.event(ch)
		if !ok {
			return
		}
		if len(w.staged) == 0 {
			c.touched = append(c.touched, w)
		}
		w.staged = append(w.staged, event)
		w.sent = ch.revision
	})
}

// flush queues the staged events. The caller holds mu.
func (c *Cache) flush() {
	for i, w := range c.touched {
		if !w.enqueue(w.staged) {
			c.removeLocked(w)
			w.end(errTooSlow)
		}
		clear(w.staged)
		w.staged = w.staged[:0]
		c.touched[i] = nil
	}
	c.touched = c.touched[:0]
}
