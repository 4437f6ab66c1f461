package inflight

import (
	"context"
	"sync"
	"time"

	utilclock "k8s.io/utils/clock"
)

// Latch is opened once. Work that waits for it is not in flight. The zero value is closed. Open
// counts the waiting work again before it wakes it:
//
//	the waiting work          keys counted   the caller of Open
//	Wait: pause               0              a timer's callback runs, and is counted
//	                          1              Open: resume
//	                          1              Open: wake
//	                          1              the callback returns
//	Wait returns              1
//
// If the waiting work counted itself again, the time could move on between the callback's
// return and the goroutine's next step, and the work would be done at a later time.
type Latch struct {
	mu      sync.Mutex
	open    bool
	waiters map[*waiter]struct{}
}

// Open makes all present and later calls of Wait return. The caller must be in flight.
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

// Wait returns when the latch is open, or with the cause of ctx's end. The work that ctx belongs
// to (With) is not in flight meanwhile. It is in flight again before Open, or the cancel
// function of WithCancelCause, returns.
func (l *Latch) Wait(ctx context.Context) error { return l.WaitOr(ctx, nil) }

// WaitOr is Wait that also returns when other is closed. Closing other wakes the work without
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

// waiter is one call of Wait.
type waiter struct {
	ended func() error // of its context
	chain *chain
	woken chan struct{}

	mu             sync.Mutex
	paused, passed bool
}

// pause stops counting the waiter's work, unless resume was called first.
func (w *waiter) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.passed {
		w.paused = true
		w.chain.pause()
	}
}

// resume counts the work again. Only the first call has an effect.
func (w *waiter) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paused && !w.passed {
		w.chain.resume()
	}
	w.passed = true
}

// Sleep waits for d on c, or returns the cause of ctx's end. The work that ctx belongs to (With)
// is not in flight meanwhile, and is in flight again before time moves on. Sleepers that wake
// at the same instant wake in the order of their calls.
func Sleep(ctx context.Context, c utilclock.WithDelayedExecution, d time.Duration) error {
	if err := context.Cause(ctx); err != nil || d <= 0 {
		return err
	}
	var due Latch
	// The timer is created before the work pauses, because other work may go to sleep then:
	// timers of one instant fire in the order of their creation.
	timer := c.AfterFunc(d, due.Open)
	defer timer.Stop()
	return due.Wait(ctx)
}
