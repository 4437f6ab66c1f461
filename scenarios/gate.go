package scenarios

import (
	"context"
	"sync"

	"minikcm.dev/minikcm/clock"
)

// gate is where a branch of a run waits. While it does not wait, it is in flight, so
// that virtual time stands still. It is made in flight, and ends with leave.
type gate struct {
	ledger *clock.Ledger
	wake   chan struct{}

	mu      sync.Mutex
	waiting bool
	raised  bool
}

func newGate(ledger *clock.Ledger) *gate {
	ledger.Begin(clock.Action, 1)
	return &gate{ledger: ledger, wake: make(chan struct{}, 1)}
}

// raise wakes who waits, or lets the next wait return at once. Who calls it does so
// while what it tells of is in flight.
func (g *gate) raise() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.waiting {
		g.raised = true
		return
	}
	g.waiting = false
	g.ledger.Begin(clock.Action, 1)
	g.wake <- struct{}{}
}

// wait returns when the gate was raised, or ctx has ended.
func (g *gate) wait(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	g.mu.Lock()
	if g.raised {
		g.raised = false
		g.mu.Unlock()
		return nil
	}
	g.waiting = true
	g.ledger.End(clock.Action, 1)
	g.mu.Unlock()
	select {
	case <-g.wake:
	case <-ctx.Done():
		g.mu.Lock()
		if g.waiting {
			g.waiting = false
			g.ledger.Begin(clock.Action, 1)
		} else {
			<-g.wake
		}
		g.mu.Unlock()
	}
	return context.Cause(ctx)
}

// leave ends what was in flight.
func (g *gate) leave() { g.ledger.End(clock.Action, 1) }
