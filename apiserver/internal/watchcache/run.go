package watchcache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/store"
)

const (
	pageSize   = 1000
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// run follows the store until ctx ends. After an attempt that made progress it starts
// the next one immediately, otherwise after a back-off, during which readers get the
// attempt's error.
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
		c.cfg.Logger.Info("Watch cache lists the store again", "prefix", c.cfg.Prefix, "reason", err, "after", backoff)
		c.end(err, backoff == 0)
		if backoff > 0 {
			// By the machine's clock: virtual time stands still until informers have resumed
			// their watches, which need this cache.
			if inflight.Sleep(ctx, clock.Real(), backoff) != nil {
				c.end(ErrClosed, false)
				return
			}
			c.begin()
		}
		backoff = min(max(2*backoff, minBackoff), maxBackoff)
	}
}

// follow lists the prefix and then dispatches the batches of the store's watch. It
// reports whether it received any batch, and why it ended.
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
		for range w.Batches() { // until the store has closed the watch
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
		if isDue && len(w.Batches()) == 0 { // batches that have arrived may bring enough progress
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

// list reads all entries: at revision from, if it is given and the store still has the
// history after it, otherwise at the newest revision. The cache is ready once it has
// reached revision newest.
func (c *Cache) list(ctx context.Context, from int64) (entries []*Entry, revision, newest int64, err error) {
	if from > 0 {
		if newest, err = c.newest(ctx); err != nil {
			return nil, 0, 0, err
		}
		if oldest := newest - int64(c.cfg.RingSize) + 1; c.cfg.Since > 0 {
			from = max(from, oldest)
		}
		for from <= newest && newest-from < int64(c.cfg.RingSize) {
			entries, revision, err = c.listAt(ctx, from)
			var compacted *store.CompactedError
			if err == nil || !errors.As(err, &compacted) {
				return entries, revision, newest, err
			}
			if c.cfg.Since == 0 || compacted.Compacted <= from {
				break
			}
			from = compacted.Compacted // the oldest history that there is
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

// install replaces the cached state with a list. Writes of this process up to revision
// are part of the list and will not arrive as events.
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
	// The latest deletion below the prefix may be at any revision up to the list's.
	c.rev, c.lastChange = revision, revision
	c.changed.Store(revision)
	c.settle()
}

// openAt opens the gate if the cache has reached a revision.
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

// end ends an attempt and all watchers. Waiting readers get err, unless the next
// attempt starts immediately (again).
func (c *Cache) end(err error, again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reason := err
	if !errors.Is(err, ErrClosed) {
		reason = fmt.Errorf("%w: %w", ErrClosed, err)
	}
	c.endWatchersLocked(reason)
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
