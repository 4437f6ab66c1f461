package box

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
)

// attention is whether the ledger counts a command as being at work: it does unless a part
// of it waits.
type attention struct {
	ledger *clock.Ledger

	mu      sync.Mutex
	counted bool
	over    bool
	waiting map[*absence]bool
}

// absence is one part of a command that waits.
type absence struct {
	attention *attention
	// until are channels that are closed when the waiting is over; they may be nil.
	until []<-chan struct{}
}

// begin begins the counting.
func (a *attention) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count()
}

// finish ends the counting for good.
func (a *attention) finish() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	a.count()
}

// leave is when the part begins to wait.
func (w *absence) leave() {
	a := w.attention
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting = map[*absence]bool{}
	}
	a.waiting[w] = true
	a.count()
}

// back is when it goes on; more than once is as good as once.
func (w *absence) back() {
	w.attention.mu.Lock()
	defer w.attention.mu.Unlock()
	delete(w.attention.waiting, w)
	w.attention.count()
}

// recall counts those whose waiting is over, before they know it themselves.
func (a *attention) recall() {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.waiting, func(w *absence, _ bool) bool { return slices.ContainsFunc(w.until, closed) })
	a.count()
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// count is called with the lock held.
func (a *attention) count() {
	counts := len(a.waiting) == 0 && !a.over
	switch {
	case counts && !a.counted:
		a.ledger.Begin(clock.Action, 1)
	case a.counted && !counts:
		a.ledger.End(clock.Action, 1)
	}
	a.counted = counts
}

// sleep returns when d has passed on the cluster's clock, or with the error of ctx.
func (s *session) sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	hurry := s.machine.Main.paused()
	woken := make(chan struct{})
	w := &absence{&s.attention, []<-chan struct{}{ctx.Done(), hurry}}
	timer := s.machine.Clock.AfterFunc(d, func() {
		w.back()
		close(woken)
	})
	w.leave()
	defer w.back()
	err := error(nil)
	select {
	case <-woken:
		return nil
	case <-hurry:
		err = errHurried
	case <-ctx.Done():
		err = ctx.Err()
	}
	if !timer.Stop() {
		<-woken
	}
	return err
}
