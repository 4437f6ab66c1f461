package inflight

import (
	"context"
	"sync"
)

// Gate is one piece of work that repeatedly waits until it is raised. It is in flight except
// while it waits. If work takes turns, it continues after the wait when it gets its turn.
//
//	the gate's work       the caller of Raise     the ledger
//	Wait                  runs                    1 key
//	                      Raise                   1 key, 1 action waits for its turn
//	                      ends                    1 action
//	Wait returns                                  1 action
//
// The caller of Raise is in flight, so no time passes in between.
type Gate struct {
	line *Line[struct{}]
	key  string

	mu      sync.Mutex
	waiting bool
	raised  bool
	work    *Work // while it is in flight
	next    *Ticket[struct{}]
}

// NewGate returns a gate that is in flight as work of kind k, until Leave. Name and key
// identify it in the order of turns.
func NewGate(l *Ledger, k Kind, name, key string) *Gate {
	return &Gate{line: NewLine[struct{}](l, k, name), key: key, work: Begin(l, k)}
}

// TakesTurns reports whether the work waits for its turn after it has been raised.
func (g *Gate) TakesTurns() bool { return g.line.turns }

// Raise makes Wait return; if no Wait is running, the next one. The caller must be in flight.
func (g *Gate) Raise() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.waiting {
		g.raised = true
		return
	}
	g.waiting = false
	g.next = g.line.Join(g.key, struct{}{})
}

// Wait returns when the gate is raised, or with the cause of ctx's end. The work is in flight
// again in both cases.
func (g *Gate) Wait(ctx context.Context) error {
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
	g.work.End()
	g.mu.Unlock()
	g.woken(ctx)
	return context.Cause(ctx)
}

// Yield lets work with an earlier turn run first. It returns the cause of ctx's end if ctx ends
// before the turn comes: the turn may never come if other work in flight waits for this work.
func (g *Gate) Yield(ctx context.Context) error {
	if !g.TakesTurns() {
		return context.Cause(ctx)
	}
	g.mu.Lock()
	g.next = g.line.Join(g.key, struct{}{})
	g.work.End()
	g.mu.Unlock()
	g.woken(ctx)
	return context.Cause(ctx)
}

// woken waits for the turn or the end of ctx, and counts the work.
func (g *Gate) woken(ctx context.Context) {
	_, granted := g.line.Next(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting { // it was not raised
		g.waiting = false
		g.work = Begin(g.line.ledger, g.line.kind)
		return
	}
	if !granted {
		g.next.Withdraw()
	}
	g.work = g.next.Work()
}

// Pause implements Pauser, for functions that the work calls.
func (g *Gate) Pause() { g.current().Pause() }

// Resume implements Pauser.
func (g *Gate) Resume() { g.current().Resume() }

func (g *Gate) current() *Work {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.work
}

// Leave ends the work.
func (g *Gate) Leave() { g.current().End() }

// AtLast calls do after all other work of this instant, so that work which is due exactly at a
// time limit is within it. AtLast may return earlier. do is in flight as work of kind k; key
// identifies it in the order of turns. Without turns, AtLast calls do at once.
func AtLast(l *Ledger, k Kind, key string, do func()) {
	if !l.TakesTurns() {
		do()
		return
	}
	last := Work{ledger: l, kind: k}
	t := &turn{ledger: l, kind: k, index: -1, granted: func() {
		go func() { // the ledger must not be asked here
			defer last.End()
			do()
		}()
	}}
	t.join(Last, key)
}
