package apiserver

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

// compactor forgets the store's history: at each interval what was there at the
// interval before, so that a client always has at least one interval to go on from
// a revision that it has seen.
type compactor struct {
	store    store.Store
	clock    clock.Clock
	interval time.Duration
	logger   klog.Logger
	ctx      context.Context
	cancel   context.CancelFunc

	mu       sync.Mutex
	timer    interface{ Stop() bool }
	stopped  bool
	running  sync.WaitGroup
	previous int64
}

// startCompactor returns nil if interval is negative: nothing is ever forgotten.
func startCompactor(s store.Store, c clock.Clock, interval time.Duration, logger klog.Logger) *compactor {
	if interval < 0 {
		return nil
	}
	compact := &compactor{store: s, clock: c, interval: interval, logger: logger}
	compact.ctx, compact.cancel = context.WithCancel(context.Background())
	compact.schedule()
	return compact
}

func (c *compactor) schedule() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped {
		c.timer = c.clock.AfterFunc(c.interval, c.run)
	}
}

func (c *compactor) run() {
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return
	}
	c.running.Add(1)
	c.mu.Unlock()
	defer c.running.Done()
	if c.previous > 0 {
		var already *store.CompactedError
		if err := c.store.Compact(c.ctx, c.previous); err != nil && !errors.As(err, &already) && c.ctx.Err() == nil {
			c.logger.Error(err, "Compacting the store", "revision", c.previous)
		}
	}
	if revision, err := c.store.Revision(c.ctx); err == nil {
		c.previous = revision
	}
	c.schedule()
}

// stop returns when no compaction is going on any more.
func (c *compactor) stop() {
	c.mu.Lock()
	c.stopped = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	c.cancel()
	c.running.Wait()
}
