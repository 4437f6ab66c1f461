package check

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	utilclock "k8s.io/utils/clock"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/scenarios/format"
)

// Violation is an invariant that did not hold.
type Violation struct {
	Invariant *format.Invariant
	// Err says what differed, or that it could not be found out.
	Err error
}

func (v *Violation) Error() string {
	return fmt.Sprintf("invariant %q: %v", v.Invariant.Name, v.Err)
}

func (v *Violation) Unwrap() error { return v.Err }

// Monitor watches one invariant from when it is made until Stop.
type Monitor struct {
	invariant *format.Invariant
	clock     clock.Clock
	violated  func(error)
	settled   func()

	stop context.CancelFunc
	mu   sync.Mutex // after the expectation's, never before
	x    *Expectation
	// unmet says that an eventual one does not hold now; timer is its limit.
	unmet   bool
	timer   utilclock.Timer
	last    error
	told    bool
	stopped bool
}

// Watch begins to watch an invariant. violated is called at most once, while the event
// that broke it is in flight; settled whenever an eventual one holds again. Neither
// may wait.
func (c *Cluster) Watch(ctx context.Context, i *format.Invariant, clock clock.Clock, violated func(error), settled func()) (*Monitor, error) {
	ctx, cancel := context.WithCancel(ctx)
	m := &Monitor{invariant: i, clock: clock, violated: violated, settled: settled, stop: cancel}
	x, err := c.Follow(ctx, i.Check(), func() {
		if x := m.expectation(); x != nil {
			m.look(x.HoldsLocked(ctx))
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
	m.look(x.HoldsLocked(ctx))
	return m, nil
}

func (m *Monitor) expectation() *Expectation {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.x
}

// look takes in how things are after an event.
func (m *Monitor) look(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped || m.told {
		return
	}
	holds := err == nil
	switch {
	case err != nil && !IsDiffers(err):
		m.tell(err)
	case m.invariant.Always != nil && !holds:
		m.tell(err)
	case m.invariant.Never != nil && holds:
		m.tell(&Differs{Text: "it holds, which it never may: " + m.invariant.Never.Title()})
	case m.invariant.Eventually != nil:
		m.eventually(err)
	}
}

func (m *Monitor) eventually(err error) {
	within := time.Duration(m.invariant.Eventually.Within)
	m.last = err
	switch {
	case err == nil && m.unmet:
		m.unmet = false
		m.timer.Stop()
		m.settled()
	case err != nil && !m.unmet:
		m.unmet = true
		m.timer = m.clock.AfterFunc(within, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.unmet && !m.stopped && !m.told {
				m.tell(fmt.Errorf("not within %v: %w", within, m.last))
			}
		})
	}
}

func (m *Monitor) tell(err error) {
	m.told = true
	m.violated(&Violation{Invariant: m.invariant, Err: err})
}

// Unmet says that an eventual invariant does not hold now, and may yet.
func (m *Monitor) Unmet() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unmet && !m.told
}

// Stop ends it. Nothing is told any more when it has returned.
func (m *Monitor) Stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = true
	if m.timer != nil {
		m.timer.Stop()
	}
	m.stop()
}

// IsViolation says whether err is that of an invariant.
func IsViolation(err error) bool {
	var v *Violation
	return errors.As(err, &v)
}
