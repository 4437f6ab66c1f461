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
	// arm is called before work waits, the first time; it may be nil.
	arm  func()
	once sync.Once

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
		if at.arm != nil {
			at.once.Do(at.arm)
		}
		at.mu.Lock()
		if at.waiters == nil {
			at.waiters = map[*waiter]struct{}{}
		}
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
	c := &canceller{parent: cancellersOf(parent)}
	return c.context(parent)
}

func (c *canceller) context(parent context.Context) (context.Context, context.CancelCauseFunc) {
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

// WithLimitCause is WithTimeoutCause for a limit that is hardly ever reached: it has no timer until
// work first waits with the context, in Sleep or for a Latch. A virtual clock does not move before
// that; on other clocks, the limit counts only for work that waits in this way.
func WithLimitCause(parent context.Context, clk AlarmClock, d time.Duration, cause error) (ctx context.Context, stop context.CancelFunc) {
	l := &limit{canceller: canceller{parent: cancellersOf(parent)}, clock: clk, at: clk.Now().Add(d), cause: cause}
	l.arm = l.start
	ctx, l.cancel = l.context(parent)
	return ctx, l.stop
}

// limit is a context of WithLimitCause.
type limit struct {
	canceller
	clock  AlarmClock
	at     time.Time
	cause  error
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	timer   utilclock.Timer
	stopped bool
}

func (l *limit) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopped {
		l.timer = l.clock.AfterFunc(l.at.Sub(l.clock.Now()), func() { l.cancel(l.cause) })
	}
}

func (l *limit) stop() {
	l.mu.Lock()
	l.stopped = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
	l.cancel(nil)
}
