package scenarios

import (
	"context"
	"sync"

	"minikcm.dev/minikcm/clock"
)

// gate is where a branch of a run waits. While it does not wait, it is in flight, so
// that virtual time stands still. It is made in flight, and ends with leave. Where work
// takes turns, a branch that was woken goes on when it is its turn, which comes before
// that of the cluster's parts: when all that has been done is seen everywhere.
type gate struct {
	ledger *clock.Ledger
	name   string // among the gates of a run
	wake   chan struct{}

	mu      sync.Mutex
	waiting bool
	raised  bool
	turn    *clock.Turn
}

func newGate(ledger *clock.Ledger, name string) *gate {
	ledger.Begin(clock.Action, 1)
	return &gate{ledger: ledger, name: name, wake: make(chan struct{}, 1)}
}

// wakeLocked lets the branch go on, which is in flight from now on.
func (g *gate) wakeLocked() {
	if g.ledger.TakesTurns() {
		g.turn = g.ledger.Join(clock.Action, clock.First, g.name, func() { g.wake <- struct{}{} })
		return
	}
	g.ledger.Begin(clock.Action, 1)
	g.wake <- struct{}{}
}

// yield lets the branches go first whose turn comes earlier. It returns the cause of
// ctx's end if that comes before the turn: a branch that waits for this one may keep the
// turn from ever coming, as it is in flight itself.
func (g *gate) yield(ctx context.Context) error {
	if !g.ledger.TakesTurns() {
		return context.Cause(ctx)
	}
	g.mu.Lock()
	g.wakeLocked()
	g.ledger.End(clock.Action, 1)
	g.mu.Unlock()
	g.woken(ctx)
	return context.Cause(ctx)
}

// woken returns when the gate's turn has come, which wakeLocked has asked for, or when
// ctx ends first. The branch is in flight either way.
func (g *gate) woken(ctx context.Context) {
	select {
	case <-g.wake:
	case <-ctx.Done():
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.turn == nil || !g.turn.Take() {
			<-g.wake // it was granted meanwhile
		}
	}
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
	g.wakeLocked()
}

// raiseLast is raise at the end of what is done at this instant. expired is called before.
func (g *gate) raiseLast(expired func()) {
	atLast(g.ledger, g.name, func() {
		expired()
		g.raise()
	})
}

// atLast calls do at the end of what is done at this instant, so that what happens at a
// limit is in time. It may return before. name is among those that share an instant.
func atLast(ledger *clock.Ledger, name string, do func()) {
	if !ledger.TakesTurns() {
		do()
		return
	}
	ledger.Join(clock.Action, clock.Last, name, func() {
		go func() { // the ledger must not be asked here
			defer ledger.End(clock.Action, 1)
			do()
		}()
	})
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
		waiting := g.waiting
		if waiting {
			g.waiting = false
			g.ledger.Begin(clock.Action, 1)
		}
		g.mu.Unlock()
		if !waiting { // raised meanwhile
			g.woken(ctx)
		}
	}
	return context.Cause(ctx)
}

// leave ends what was in flight.
func (g *gate) leave() { g.ledger.End(clock.Action, 1) }
