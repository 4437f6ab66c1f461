package scenarios

import (
	"context"
	"sync"

	"minikcm.dev/minikcm/clock/inflight"
	"minikcm.dev/minikcm/scenarios/check"
	"minikcm.dev/minikcm/scenarios/format"
	"minikcm.dev/minikcm/scenarios/record"
)

// monitors are those of a run's invariants. A nil one watches nothing.
type monitors struct {
	run  *run
	gate *inflight.Gate

	mu     sync.Mutex
	active map[*format.Invariant]*watched
}

// watched is an invariant that is watched.
type watched struct {
	*check.Monitor
	span *record.ActiveSpan
}

// begin begins to watch what is to hold from the end of that step on; the empty name
// is the run's start.
func (m *monitors) begin(ctx context.Context, step string) error {
	if m == nil {
		return nil
	}
	for i := range m.run.scenario.Spec.Invariants {
		invariant := &m.run.scenario.Spec.Invariants[i]
		if invariant.After != step {
			continue
		}
		if err := m.watch(ctx, invariant); err != nil {
			return err
		}
	}
	return nil
}

func (m *monitors) watch(ctx context.Context, i *format.Invariant) error {
	m.mu.Lock()
	_, known := m.active[i]
	m.mu.Unlock()
	if known {
		return nil
	}
	span := m.run.recorder.Begin(nil, record.Check, "invariant "+i.Name, i.Line)
	monitor, err := m.run.checks().Watch(ctx, i, check.Watching{
		Clock:    m.run.clock,
		Last:     func(do func()) { inflight.AtLast(m.run.ledger, inflight.Action, "invariant "+i.Name, do) },
		Violated: func(err error) { m.violated(span, i, err) },
		Settled:  m.gate.Raise,
	})
	if err != nil {
		span.End(err)
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.active == nil {
		m.active = map[*format.Invariant]*watched{}
	}
	m.active[i] = &watched{monitor, span}
	return nil
}

// violated ends the run.
func (m *monitors) violated(span *record.ActiveSpan, i *format.Invariant, err error) {
	failure := record.Failure{Check: i.Name, Message: err.Error()}
	about(&failure, err)
	m.run.recorder.Fail(span, failure)
	span.End(err)
	m.run.cancel(err)
	m.run.raiseAll()
}

// end stops what is to hold until that step begins.
func (m *monitors) end(step string) {
	if m == nil || step == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, w := range m.active {
		if i.Until == step && w.Monitor != nil {
			w.Stop()
			w.span.End(nil)
			m.active[i] = &watched{}
		}
	}
}

// settle waits for what does not hold now and may yet: each has its own limit.
func (m *monitors) settle(ctx context.Context) error {
	for m.unmet() {
		if err := m.gate.Wait(ctx); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

func (m *monitors) unmet() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.active {
		if w.Monitor != nil && w.Unmet() {
			return true
		}
	}
	return false
}

// stop ends all of them.
func (m *monitors) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.active {
		if w.Monitor != nil {
			w.Stop()
			w.span.End(nil)
		}
	}
	m.active = nil
}
