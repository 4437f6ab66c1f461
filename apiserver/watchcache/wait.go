package watchcache

import (
	"context"
	"fmt"
	"slices"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/inflight"
)

// catchUpLimit is how long a reader waits for the cache to come to a revision that
// the store has. It is the machine's time: catching up is the machine's work, and
// a virtual clock stands still while a request waits.
const catchUpLimit = 3 * time.Second

// gate is passed by readers when the cache has caught up with the store, or with
// err when it could not.
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

// waiter waits until the cache is at revision, or has to start anew.
type waiter struct {
	revision int64
	come     inflight.Latch
}

// wake wakes the waiters that have what they want. mu is held.
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

// lockAt returns with mu held for reading and writing, the cache ready and at a
// revision not before atLeast; or with an error, and mu not held. atLeast must be
// a revision that the store has come to. from is for start.
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

// await waits for w. As no event of the prefix may be on its way, progress has to be
// requested, by the first who waits.
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
	// The request stays in flight: it waits for the machine, not for time.
	switch err := w.come.WaitOr(inflight.Alone(ctx), late); {
	case err != nil:
		c.giveUp(w, false)
		return ctx.Err()
	case !w.come.IsOpen():
		return tooLarge(w.revision, c.giveUp(w, true))
	}
	return nil
}

// giveUp removes w and returns where the cache is. If progress was not delivered,
// the others have to ask for it again.
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

// exists returns an error when the store has not come to a revision that a client
// asks for.
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
