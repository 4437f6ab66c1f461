package box

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/kubeletsim/internal/shell"
)

// attention counts a command in the ledger, except while all of its parts wait. A part is a goroutine.
type attention struct {
	work *inflight.Work
	// caller is the work that waits for the command, and pauses with it; it may be nil.
	caller inflight.Pauser

	mu sync.Mutex
	// more counts the parts beside the first one.
	more    int
	paused  bool
	waiting map[*absence]bool
}

// absence is the wait of one part of a command.
type absence struct {
	attention *attention
	// until are channels that are closed when the wait is over; they may be nil.
	until []<-chan struct{}
}

// work returns the ledger's count of the command: Main.Work if it is counted already.
func (m *Machine) work() *inflight.Work {
	if m.Main != nil && m.Main.Work != nil {
		return m.Main.Work
	}
	return inflight.Begin(m.Ledger, inflight.Action)
}

// finish ends the count for good.
func (a *attention) finish() { a.work.End() }

// Pause implements inflight.Pauser.
func (w *absence) Pause() { w.leave() }

// Resume implements inflight.Pauser.
func (w *absence) Resume() { w.back() }

// Begin implements shell.Parts.
func (a *attention) Begin() (end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.more++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.more--
		a.count()
	}
}

// Await implements shell.Parts.
func (a *attention) Await(until ...<-chan struct{}) (back func()) {
	w := &absence{a, until}
	w.leave()
	return w.back
}

// leave begins the wait.
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

// back ends the wait. It is idempotent.
func (w *absence) back() {
	w.attention.mu.Lock()
	defer w.attention.mu.Unlock()
	delete(w.attention.waiting, w)
	w.attention.count()
}

// recall counts the parts whose wait is over before their goroutines run. Timeline: T1, which is no part, closes
// the channel that T2 waits for; T2 has not run yet; without recall, the ledger would be empty
// and the clock could move.
func (a *attention) recall() {
	a.mu.Lock()
	defer a.mu.Unlock()
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

// count updates the ledger. It requires the lock. A part that closes a channel for others is counted until it waits itself, or ends:
// then, those whose channels are closed are counted.
func (a *attention) count() {
	waits := len(a.waiting) > a.more
	if waits {
		maps.DeleteFunc(a.waiting, func(w *absence, _ bool) bool { return slices.ContainsFunc(w.until, closed) })
		waits = len(a.waiting) > a.more
	}
	switch {
	case waits && !a.paused:
		a.work.Pause()
		if a.caller != nil {
			a.caller.Pause()
		}
	case a.paused && !waits:
		if a.caller != nil {
			a.caller.Resume()
		}
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
	shell.TurnOf(ctx).End()
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
