package check

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	utilclock "k8s.io/utils/clock"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// Violation is an invariant that did not hold.
type Violation struct {
	Invariant *spec.Invariant
	// Err says what differed, or that it could not be found out.
	Err error
}

func (v *Violation) Error() string {
	return fmt.Sprintf("invariant %q: %v", v.Invariant.Name, v.Err)
}

func (v *Violation) Unwrap() error { return v.Err }

// Watching holds the options for watching an invariant.
type Watching struct {
	Clock clock.Clock
	// Leeway is added to the time within which an eventual invariant has to hold.
	Leeway time.Duration
	// Last calls do when all other work of this instant is done. It need not wait for do.
	Last func(do func())
	// InTurn calls do in a turn: when the work during which the invariant was violated has
	// ended. It does not wait for do.
	InTurn func(do func())
	// Violated is called at most once, in a turn. Settled is called when an eventual invariant
	// holds again. Neither may wait.
	Violated func(error)
	Settled  func()
}

// Monitor watches one invariant from when it is made until Stop. Every state is evaluated,
// also those between the writes of one reconcile. Why the objects are not as expected is read
// from the server only afterwards, because the reconcile goes on meanwhile:
//
//	a controller creates db-0 and db-1    db-1 breaks the invariant, of which pods has 2 items
//	it creates db-2 in the same turn      at about the same time
//	its turn ends                         the monitor gets one, and reads the reasons of 3 pods
type Monitor struct {
	Watching
	invariant *spec.Invariant

	stop context.CancelFunc
	mu   sync.Mutex // after the expectation's, never before
	x    *Expectation
	// unmet says that an eventual invariant does not hold now, for the spells-th time.
	// timer is its limit.
	unmet    bool
	spells   int
	timer    utilclock.Timer
	last     error
	violated bool
	found    error // the violation while it is not reported
	stopped  bool
}

// Watch begins to watch an invariant.
func (c *Cluster) Watch(ctx context.Context, i *spec.Invariant, how Watching) (*Monitor, error) {
	ctx, cancel := context.WithCancel(ctx)
	m := &Monitor{Watching: how, invariant: i, stop: cancel}
	x, err := c.Follow(ctx, i.Check(), func() {
		if x := m.expectation(); x != nil {
			m.look(ctx, x)
		}
	})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("watching the invariant %q: %w", i.Name, err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	m.mu.Lock()
	m.x = x
	m.mu.Unlock()
	m.look(ctx, x)
	return m, nil
}

func (m *Monitor) expectation() *Expectation {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.x
}

// look evaluates the invariant after an event, or at its limit. The expectation's mutex must
// be held.
func (m *Monitor) look(ctx context.Context, x *Expectation) {
	err := x.HoldsLocked(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped || m.violated {
		return
	}
	holds := err == nil
	switch {
	case err != nil && !IsDiffers(err):
		m.violate(ctx, err)
	case m.invariant.Always != nil && !holds:
		m.violate(ctx, err)
	case m.invariant.Never != nil && holds:
		m.violate(ctx, x.held(ctx, m.invariant.Never))
	case m.invariant.Eventually != nil:
		m.eventually(ctx, err)
	}
}

func (m *Monitor) eventually(ctx context.Context, err error) {
	m.last = err
	switch {
	case err == nil && m.unmet:
		m.unmet = false
		m.timer.Stop()
		m.Settled()
	case err != nil && !m.unmet:
		m.unmet = true
		m.spells++
		spell := m.spells
		m.timer = m.Clock.AfterFunc(m.within(), func() {
			m.Last(func() { m.expire(ctx, spell) })
		})
	}
}

func (m *Monitor) within() time.Duration {
	return time.Duration(m.invariant.Eventually.Within) + m.Leeway
}

// expire evaluates the invariant at its limit, since an expression may depend on the time,
// and reports a violation if it still does not hold.
func (m *Monitor) expire(ctx context.Context, spell int) {
	x := m.expectation()
	x.mu.Lock()
	defer x.mu.Unlock()
	m.look(ctx, x)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unmet && m.spells == spell && !m.stopped && !m.violated {
		m.x.explainLocked(ctx, m.last) // before its text becomes part of another
		m.violated, m.found = true, fmt.Errorf("not within %v: %w", m.within(), m.last)
		m.report(ctx)
	}
}

// violate leads to the report of a violation. Both mutexes must be held.
func (m *Monitor) violate(ctx context.Context, err error) {
	detail(err)
	m.violated, m.found = true, err
	m.InTurn(func() {
		m.x.mu.Lock()
		defer m.x.mu.Unlock()
		m.mu.Lock()
		defer m.mu.Unlock()
		m.report(ctx)
	})
}

// report reports a violation that has been found, with its reasons as of now. Both mutexes must
// be held.
func (m *Monitor) report(ctx context.Context) {
	err := m.found
	if err == nil {
		return
	}
	m.found = nil
	m.x.explainLocked(ctx, err)
	m.Violated(&Violation{Invariant: m.invariant, Err: err})
}

// Unmet reports whether an eventual invariant does not hold now and may hold yet.
func (m *Monitor) Unmet() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unmet && !m.violated
}

// Stop ends the monitor, and reports a violation that has been found before. Violated and
// Settled are not called after it has returned.
func (m *Monitor) Stop(ctx context.Context) {
	x := m.expectation()
	x.mu.Lock()
	defer x.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = true
	m.report(ctx)
	if m.timer != nil {
		m.timer.Stop()
	}
	m.stop()
}

// IsViolation reports whether err is a Violation.
func IsViolation(err error) bool {
	var v *Violation
	return errors.As(err, &v)
}
