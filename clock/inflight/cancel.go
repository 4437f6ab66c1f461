package inflight

import (
	"context"
	"sync"
	"time"

	utilclock "k8s.io/utils/clock"
)

// canceller keeps the work that waits with a context whose end is counted.
type canceller struct {
	parent *canceller

	mu      sync.Mutex
	waiters map[*waiter]struct{}
}

type cancellerKey struct{}

func cancellersOf(ctx context.Context) *canceller {
	c, _ := ctx.Value(cancellerKey{}).(*canceller)
	return c
}

// join makes the end of one of the contexts count w, until leave is called.
func (c *canceller) join(w *waiter) (leave func()) {
	for at := c; at != nil; at = at.parent {
		at.mu.Lock()
		at.waiters[w] = struct{}{}
		at.mu.Unlock()
	}
	return func() {
		for at := c; at != nil; at = at.parent {
			at.mu.Lock()
			delete(at.waiters, w)
			at.mu.Unlock()
		}
	}
}

// wake counts the work whose wait is over. A context that context.WithoutCancel derives from an
// ended one has not ended.
func (c *canceller) wake() {
	c.mu.Lock()
	waiters := make([]*waiter, 0, len(c.waiters))
	for w := range c.waiters {
		waiters = append(waiters, w)
	}
	c.mu.Unlock()
	for _, w := range waiters {
		if w.ended() != nil {
			w.resume()
		}
	}
}

// WithCancelCause is context.WithCancelCause with an end that is counted: work that waits with
// the context, in Sleep or for a Latch, is in flight again when cancel returns. The caller of
// cancel must be in flight itself.
func WithCancelCause(parent context.Context) (context.Context, context.CancelCauseFunc) {
	c := &canceller{parent: cancellersOf(parent), waiters: map[*waiter]struct{}{}}
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, cancellerKey{}, c))
	return ctx, func(cause error) {
		cancel(cause)
		c.wake()
	}
}

// WithTimeoutCause is WithCancelCause with a timeout of d on clk. stop ends the context too,
// and releases the timer.
func WithTimeoutCause(parent context.Context, clk utilclock.WithDelayedExecution, d time.Duration, cause error) (ctx context.Context, stop context.CancelFunc) {
	ctx, cancel := WithCancelCause(parent)
	timer := clk.AfterFunc(d, func() { cancel(cause) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}
