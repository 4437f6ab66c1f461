package box

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock/inflight"
)

// attention is whether the ledger counts a command as being at work: it does unless a part
// of it waits.
type attention struct {
	work *inflight.Work

	mu      sync.Mutex
	paused  bool
	waiting map[*absence]bool
}

// absence is one part of a command that waits.
type absence struct {
	attention *attention
	// until are channels that are closed when the waiting is over; they may be nil.
	until []<-chan struct{}
}

// work is what counts the command: its Main's, if that has been counted already.
func (m *Machine) work() *inflight.Work {
	if m.Main != nil && m.Main.Work != nil {
		return m.Main.Work
	}
	return inflight.Begin(m.Ledger, inflight.Action)
}

// finish ends the counting for good.
func (a *attention) finish() { a.work.End() }

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
	waits := len(a.waiting) > 0
	switch {
	case waits && !a.paused:
		a.work.Pause()
	case a.paused && !waits:
		a.work.Resume()
	}
	a.paused = waits
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
