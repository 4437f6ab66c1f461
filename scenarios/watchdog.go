package scenarios

import (
	"context"
	"fmt"
	"time"

	"minikcm.dev/minikcm/clock"
)

// In virtual time, a run makes progress whenever work begins or ends in the ledger. While
// some work is in flight and the ledger does not change, time cannot move: only the
// machine can end such a standstill. The watchdog measures it by the machine's clock, in
// samples, so that a process that was suspended (SIGSTOP, a closed laptop) counts one
// sample however long that took.
const (
	watchInterval = 5 * time.Second
	// warnAfter samples without a change, Progress.Stalled is called; abandonAfter, the
	// run is given up. A run that was interrupted is given up when it would be warned of.
	warnAfter    = 2
	abandonAfter = 12
)

// StalledError is the failure of a run that made no progress for so long that it was
// given up. What was in flight at that time kept virtual time from moving.
type StalledError struct {
	// For is the machine's time without progress.
	For time.Duration
	// InFlight lists the work that the ledger counts, such as "2 requests, 1 queued keys".
	InFlight string
	// Interrupted says that the run was to end, and did not.
	Interrupted bool
}

func (e *StalledError) Error() string {
	if e.Interrupted {
		return fmt.Sprintf("the run did not end within %v of the interruption and was given up; in flight: %s", e.For, e.InFlight)
	}
	return fmt.Sprintf("the run made no progress for %v and was given up; in flight: %s", e.For, e.InFlight)
}

// standstill counts the samples in which the ledger did not change.
type standstill struct {
	changes uint64
	samples int
}

// verdict is the action after a sample.
type verdict int

const (
	carryOn verdict = iota
	warn
	abandon
)

// sample judges the ledger's state: idle is true if nothing is in flight, changes counts
// how often work began or ended.
func (s *standstill) sample(idle bool, changes uint64, interrupted bool) verdict {
	if idle || changes != s.changes {
		s.samples, s.changes = 0, changes
		return carryOn
	}
	s.samples++
	switch {
	case s.samples >= abandonAfter, interrupted && s.samples >= warnAfter:
		return abandon
	case s.samples == warnAfter:
		return warn
	}
	return carryOn
}

// watchdog returns a context that ends, with a StalledError as its cause, when the run
// has to be given up. ctx is the caller's: its end interrupts the run. stop ends the
// watch and returns when it has ended.
func (r *run) watchdog(ctx context.Context) (patience context.Context, stop func()) {
	patience, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	if !isVirtual(r.clock) {
		return patience, func() { cancel(nil) }
	}
	machine := r.machine
	if machine == nil {
		machine = clock.Real()
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.watch(ctx, patience, machine, cancel)
	}()
	return patience, func() {
		cancel(nil)
		<-ended
	}
}

// watch takes samples until patience ends.
func (r *run) watch(ctx, patience context.Context, machine clock.Clock, giveUp context.CancelCauseFunc) {
	ticker := machine.NewTicker(watchInterval)
	defer ticker.Stop()
	var still standstill
	for {
		select {
		case <-ticker.C():
		case <-patience.Done():
			return
		}
		if r.presenting.Load() {
			still = standstill{}
			continue
		}
		interrupted := ctx.Err() != nil
		switch still.sample(r.ledger.Idle(), r.ledger.Changes(), interrupted) {
		case warn:
			r.report(func(p Progress) { p.Stalled(warnAfter*watchInterval, r.ledger.String()) })
		case abandon:
			giveUp(&StalledError{For: time.Duration(still.samples) * watchInterval, InFlight: r.ledger.String(), Interrupted: interrupted})
			return
		}
	}
}

// closeGrace bounds the time for closing a cluster whose run was given up: stuck work may keep it
// from closing.
const closeGrace = 10 * time.Second

// closeAbandoned closes the world of a run that was given up, or leaves it as it is
// after closeGrace: the process ends with the run's report, not in a second standstill.
func (w *world) closeAbandoned() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = w.close() // the run's failure says what is wrong
	}()
	timer := clock.Real().NewTimer(closeGrace)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C():
	}
}
