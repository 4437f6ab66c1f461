package inflight

import (
	"context"
	"sync"
	"time"

	utilclock "k8s.io/utils/clock"
)

// Latch is what work waits for without being in flight, until Open. The zero value is
// closed. What opens it counts the waiting work again before it wakes it:
//
//	the waiting work          the ledger   what opens the latch
//	Wait: pause               0 keys       a timer's callback runs, which counts
//	                          1 key        Open: resume
//	                          1 key          wake
//	                          1 key        the callback has returned
//	Wait returns              1 key
//
// Were it the waiting work that resumed itself, time could move on after the callback's
// return and before the goroutine has run: what is due now would be done at a later
// time, or never.
type Latch struct {
	mu      sync.Mutex
	open    bool
	waiters map[*waiter]struct{}
}

// Open lets Wait return, now and ever after. Its caller is in flight.
func (l *Latch) Open() {
	l.mu.Lock()
	l.open = true
	waiters := l.waiters
	l.waiters = nil
	l.mu.Unlock()
	for w := range waiters {
		w.resume()
	}
	for w := range waiters {
		close(w.woken)
	}
}

// IsOpen reports whether Open has been called.
func (l *Latch) IsOpen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// Wait returns when the latch is open, or with the cause of ctx's end. The work whose
// context it is (With) is not in flight meanwhile, and is again before whatever opens
// the latch goes on, or ends a context that WithCancelCause has made.
func (l *Latch) Wait(ctx context.Context) error { return l.WaitOr(ctx, nil) }

// WaitOr is Wait that also returns when other is closed. That wakes the work without
// counting it first: time may pass in between.
func (l *Latch) WaitOr(ctx context.Context, other <-chan struct{}) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	w := &waiter{ended: ctx.Err, chain: chainOf(ctx), woken: make(chan struct{})}
	if !l.join(w) {
		return nil
	}
	defer cancellersOf(ctx).join(w)()
	w.pause()
	defer w.resume()
	select {
	case <-w.woken:
		return nil
	case <-other:
		l.leave(w)
		return nil
	case <-ctx.Done():
		l.leave(w)
		return context.Cause(ctx)
	}
}

func (l *Latch) join(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open {
		return false
	}
	if l.waiters == nil {
		l.waiters = map[*waiter]struct{}{}
	}
	l.waiters[w] = struct{}{}
	return true
}

func (l *Latch) leave(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiters, w)
}

// waiter is one Wait.
type waiter struct {
	ended func() error // of its context
	chain *chain
	woken chan struct{}

	mu             sync.Mutex
	paused, passed bool
}

// pause lets the waiter's work count no longer, unless resume came first.
func (w *waiter) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.passed {
		w.paused = true
		w.chain.pause()
	}
}

// resume counts it again. Only the first one does something.
func (w *waiter) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paused && !w.passed {
		w.chain.resume()
	}
	w.passed = true
}

// Sleep lets d pass on c, or returns the cause of ctx's end. The work whose context it
// is (With) is not in flight meanwhile, and is again before time moves on. Sleepers of
// one instant wake in the order in which they went to sleep.
func Sleep(ctx context.Context, c utilclock.WithDelayedExecution, d time.Duration) error {
	if err := context.Cause(ctx); err != nil || d <= 0 {
		return err
	}
	var due Latch
	// Before the work pauses, as others may go to sleep then: timers of one instant fire
	// in the order of their making.
	timer := c.AfterFunc(d, due.Open)
	defer timer.Stop()
	return due.Wait(ctx)
}
