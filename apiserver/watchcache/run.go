package watchcache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

const (
	pageSize   = 1000
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// run follows the store until ctx ends. What ends an attempt early is followed by
// another: the first at once, the next after a back-off, during which readers get
// the error.
func (c *Cache) run(ctx context.Context, from int64) {
	defer c.ended.Done()
	var backoff time.Duration
	for {
		progressed, err := c.follow(ctx, from)
		if ctx.Err() != nil {
			c.end(ErrClosed, false)
			return
		}
		from = 0
		if progressed {
			backoff = 0
		}
		c.cfg.Logger.Info("Watch cache starts anew", "prefix", c.cfg.Prefix, "reason", err, "after", backoff)
		c.end(err, backoff == 0)
		if backoff > 0 {
			if !c.sleep(ctx, backoff) {
				c.end(ErrClosed, false)
				return
			}
			c.begin()
		}
		backoff = min(max(2*backoff, minBackoff), maxBackoff)
	}
}

// sleep reports whether d went by before ctx ended. It is the machine's time: virtual
// time stands still until informers have succeeded in watching again, for which they
// wait for this cache.
func (c *Cache) sleep(ctx context.Context, d time.Duration) bool {
	timer := clock.Real().NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}

// follow lists the prefix and then dispatches what the store's watch delivers. It
// reports whether anything came, and why nothing does any more.
func (c *Cache) follow(ctx context.Context, from int64) (progressed bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	entries, revision, newest, err := c.list(ctx, from)
	if err != nil {
		return false, err
	}
	w, err := c.cfg.Store.Watch(ctx, c.cfg.Prefix, revision+1)
	if err != nil {
		return false, err
	}
	defer func() {
		cancel()
		for range w.Batches() { // until the store has let go of it
		}
	}()
	c.install(entries, revision)
	if revision < newest {
		if err := c.cfg.Store.RequestProgress(ctx, c.cfg.Prefix); err != nil {
			return false, err
		}
	}
	c.openAt(newest)
	isDue := false
	for {
		if isDue && len(w.Batches()) == 0 { // what has come may be progress enough
			isDue = false
			if err := c.askForBookmarks(ctx); err != nil {
				return progressed, err
			}
		}
		select {
		case batch, ok := <-w.Batches():
			if !ok {
				return progressed, watchError(w)
			}
			if err := c.dispatch(batch); err != nil {
				return progressed, err
			}
			progressed = true
			c.openAt(newest)
		case <-c.bookmarkDue:
			isDue = true
		}
	}
}

func watchError(w store.Watch) error {
	if err := w.Err(); err != nil {
		return fmt.Errorf("watching the store: %w", err)
	}
	return errors.New("the store has ended the watch")
}

// list reads all entries: those of the revision from if it is given and the store
// still has what came after, otherwise the newest. The cache is ready when it has
// come to the revision newest.
func (c *Cache) list(ctx context.Context, from int64) (entries []*Entry, revision, newest int64, err error) {
	if from > 0 {
		if newest, err = c.newest(ctx); err != nil {
			return nil, 0, 0, err
		}
		if from <= newest && newest-from < int64(c.cfg.RingSize) {
			entries, revision, err = c.listAt(ctx, from)
			var compacted *store.CompactedError
			if err == nil || !errors.As(err, &compacted) {
				return entries, revision, newest, err
			}
		}
	}
	entries, revision, err = c.listAt(ctx, 0)
	return entries, revision, revision, err
}

func (c *Cache) listAt(ctx context.Context, revision int64) ([]*Entry, int64, error) {
	var entries []*Entry
	opts := store.ListOptions{Revision: revision, Limit: pageSize}
	for {
		page, err := c.cfg.Store.List(ctx, c.cfg.Prefix, opts)
		if err != nil {
			return nil, 0, fmt.Errorf("listing %s for the watch cache: %w", c.cfg.Prefix, err)
		}
		for _, kv := range page.KeyValues {
			entry, err := c.decode(kv)
			if err != nil {
				return nil, 0, err
			}
			entries = append(entries, entry)
		}
		opts.Revision = page.Revision
		if !page.More() || len(page.KeyValues) == 0 {
			return entries, page.Revision, nil
		}
		opts.From = page.KeyValues[len(page.KeyValues)-1].Key + "\x00"
	}
}

// install replaces what is known by a list. What this process has written up to
// then is part of it and will not be seen as an event.
func (c *Cache) install(entries []*Entry, revision int64) {
	s := newSnapshot()
	var lastChange int64
	for _, entry := range entries {
		s.put(entry)
		lastChange = max(lastChange, entry.Revision)
	}
	c.pending.clear()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.snapshot = s
	c.ring.reset(revision)
	// A key may have been deleted at any revision up to the list's.
	c.rev, c.lastChange = revision, revision
	c.settle()
}

// openAt lets the readers in if the cache has come to a revision.
func (c *Cache) openAt(revision int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rev >= revision && !c.gate.isOpen() {
		c.gate.open(nil)
	}
}

// begin starts an attempt: from now on readers wait for its outcome.
func (c *Cache) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gate = newGate()
	c.following = true
}

// end ends an attempt and all watchers. Readers that wait get err, unless another
// attempt begins at once.
func (c *Cache) end(err error, again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reason := err
	if !errors.Is(err, ErrClosed) {
		reason = fmt.Errorf("%w: %w", ErrClosed, err)
	}
	var watchers []*Watcher
	c.watchers.all(func(w *Watcher) { watchers = append(watchers, w) })
	for _, w := range watchers {
		c.removeLocked(w)
		w.end(reason)
	}
	if !again {
		if c.gate.isOpen() {
			c.gate = newGate()
		}
		c.gate.open(err)
	} else if c.gate.isOpen() {
		c.gate = newGate()
	}
	c.following = again
	c.asked = 0
	if !again {
		c.settle()
	}
	c.isBookmarkDue.Set(false)
	c.wake(1<<63 - 1)
}
