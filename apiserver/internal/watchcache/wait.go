package watchcache

import (
	"context"
	"fmt"
	"slices"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// catchUpLimit is how long a reader waits for the cache to reach a revision that the
// store has. It is real time, because a virtual clock stands still while a request
// waits.
const catchUpLimit = 3 * time.Second

// gate blocks readers until the cache has caught up with the store. If that failed they
// get err.
type gate struct {
	done chan struct{}
	err  error // set before done is closed
}

func newGate() *gate { return &gate{done: make(chan struct{})} }

func (g *gate) open(err error) {
	g.err = err
	close(g.done)
}

func (g *gate) isOpen() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

func (g *gate) wait(ctx context.Context) error {
	select {
	case <-g.done:
		return g.err
	default:
	}
	select {
	case <-g.done:
		return g.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// waiter waits until the cache has reached revision, or until the attempt to follow the
// store ends.
type waiter struct {
	revision int64
	come     inflight.Latch
}

// wake wakes the waiters for revisions up to revision. The caller holds mu.
func (c *Cache) wake(revision int64) {
	hasCome := func(w *waiter) bool {
		if w.revision > revision {
			return false
		}
		w.come.Open()
		return true
	}
	c.waiters = slices.DeleteFunc(c.waiters, hasCome)
	c.future = slices.DeleteFunc(c.future, hasCome)
}

// lockAt waits until the cache is ready and at a revision of at least atLeast, and
// returns with mu locked for writing. After an error mu is not held. The store must
// have reached atLeast. from is passed to start.
func (c *Cache) lockAt(ctx context.Context, atLeast, from int64) error {
	for {
		g, err := c.start(from)
		if err != nil {
			return err
		}
		if err := g.wait(ctx); err != nil {
			return err
		}
		c.mu.Lock()
		if c.gate != g {
			c.mu.Unlock()
			continue
		}
		if c.rev >= atLeast {
			return nil
		}
		w := &waiter{revision: atLeast}
		c.waiters = append(c.waiters, w)
		ask := c.asked < atLeast
		c.asked = max(c.asked, atLeast)
		c.mu.Unlock()
		if err := c.await(ctx, w, ask); err != nil {
			return err
		}
	}
}

// await waits for w. If ask is set it requests progress from the store first, because
// the cache advances only with events of its prefix or with progress. Only the first
// waiter for a revision asks.
func (c *Cache) await(ctx context.Context, w *waiter, ask bool) error {
	if ask {
		if err := c.cfg.Store.RequestProgress(ctx, c.cfg.Prefix); err != nil {
			c.giveUp(w, true)
			return fmt.Errorf("waiting for the watch cache of %s: %w", c.cfg.Prefix, err)
		}
	}
	late := make(chan struct{})
	timer := clock.Real().AfterFunc(catchUpLimit, func() { close(late) })
	defer timer.Stop()
	// The request stays in flight, because it waits for real work, not for time to
	// pass.
	switch err := w.come.WaitOr(inflight.Alone(ctx), late); {
	case err != nil:
		c.giveUp(w, false)
		return ctx.Err()
	case !w.come.IsOpen():
		return tooLarge(w.revision, c.giveUp(w, true))
	}
	return nil
}

// giveUp removes w and returns the cache's revision. With askAgain it wakes the other
// waiters, one of which requests progress again.
func (c *Cache) giveUp(w *waiter, askAgain bool) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiters = slices.DeleteFunc(c.waiters, func(other *waiter) bool { return other == w })
	if askAgain {
		c.asked = 0
		for _, other := range c.waiters {
			other.come.Open()
		}
		c.waiters = nil
	}
	return c.rev
}

// exists returns an error if the store has not reached a revision that a client requests.
func (c *Cache) exists(ctx context.Context, revision int64) error {
	c.mu.RLock()
	rev := c.rev
	c.mu.RUnlock()
	if revision <= rev {
		return nil
	}
	newest, err := c.newest(ctx)
	if err != nil {
		return err
	}
	if revision > newest {
		return tooLarge(revision, newest)
	}
	return nil
}

func (c *Cache) newest(ctx context.Context) (int64, error) {
	revision, err := c.cfg.Store.Revision(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading the newest revision for the watch cache of %s: %w", c.cfg.Prefix, err)
	}
	return revision, nil
}
