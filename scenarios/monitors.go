package scenarios

import (
	"context"
	"sync"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/scenario/check"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// monitors watch a run's invariants. A nil value watches nothing.
type monitors struct {
	run  *run
	gate *inflight.Gate
	// reports are the turns in which violations are reported.
	reports *inflight.Group

	mu     sync.Mutex
	active map[*spec.Invariant]*watched
	// stopped says that the steps are over, whose invariants they are.
	stopped bool
}

// watched is an invariant that is watched.
type watched struct {
	*check.Monitor
	span *runrecord.ActiveSpan
}

// begin begins to watch the invariants that hold from the end of a step on; the empty name is
// the run's start.
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

func newMonitors(r *run, gate *inflight.Gate) *monitors {
	return &monitors{run: r, gate: gate, reports: inflight.NewGroup(r.ledger, inflight.Action)}
}

func (m *monitors) watch(ctx context.Context, i *spec.Invariant) error {
	m.mu.Lock()
	_, known := m.active[i]
	stopped := m.stopped
	m.mu.Unlock()
	if known || stopped {
		return nil
	}
	span := m.run.recorder.Begin(nil, runrecord.Check, "invariant "+i.Name, i.Line)
	monitor, err := m.run.checks().Watch(ctx, i, check.Watching{
		Clock:    m.run.clock,
		Leeway:   m.run.opts.Leeway,
		Last:     func(do func()) { inflight.AtLast(m.run.ledger, inflight.Action, "invariant "+i.Name, do) },
		InTurn:   func(do func()) { m.reports.GoInTurn(ctx, "invariant", i.Name, func(*inflight.Work) { do() }) },
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
		m.active = map[*spec.Invariant]*watched{}
	}
	m.active[i] = &watched{monitor, span}
	m.run.reportChecks(func(p CheckProgress) { p.Watched(i.Name) })
	return nil
}

// violated ends the run.
func (m *monitors) violated(span *runrecord.ActiveSpan, i *spec.Invariant, err error) {
	failure := runrecord.Failure{Check: i.Name, Message: err.Error()}
	about(&failure, err)
	m.run.recorder.Fail(span, failure)
	span.End(err)
	m.run.reportChecks(func(p CheckProgress) { p.Violated(i.Name, err) })
	m.run.cancel(err)
	m.run.raiseAll()
}

// end stops the invariants that hold until a step begins.
func (m *monitors) end(ctx context.Context, step string) {
	if m == nil || step == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, w := range m.active {
		if i.Until == step && w.Monitor != nil {
			w.Stop(ctx)
			w.span.End(nil)
			m.active[i] = &watched{}
		}
	}
}

// settle waits for the eventual invariants that do not hold now. Each has its own limit.
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

// stop ends all of them for good: the last steps of a run, which come then, begin none.
func (m *monitors) stop(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.active {
		if w.Monitor != nil {
			w.Stop(ctx)
			w.span.End(nil)
		}
	}
	m.active, m.stopped = nil, true
}

// close waits for the reports of violations. The context of watch has ended.
func (m *monitors) close() {
	if m != nil {
		m.reports.Close()
	}
}
