package inflight

import (
	"context"
	"sync"
)

// Gate is one piece of work that now and then waits to be raised. While it does not
// wait, it is in flight. Where work takes turns, it goes on after its waiting when its
// turn has come.
//
//	the work              what raises it          the ledger
//	Wait                  at work                 1 key
//	                      Raise                   1 key, 1 action waits for its turn
//	                      ends                    1 action
//	Wait returns                                  1 action
//
// Raise comes while what raises the gate is in flight, so that no time passes between.
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
// are those of its turns.
func NewGate(l *Ledger, k Kind, name, key string) *Gate {
	return &Gate{line: NewLine[struct{}](l, k, name), key: key, work: Begin(l, k)}
}

// TakesTurns reports whether the work waits for its turn when it has been raised.
func (g *Gate) TakesTurns() bool { return g.line.turns }

// Raise lets Wait return, or the next Wait if there is none. Its caller is in flight.
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

// Wait returns when the gate is raised, or with the cause of ctx's end. The work is in
// flight either way.
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

// Yield lets the work go first whose turn comes earlier. It returns the cause of ctx's
// end if that comes before the turn: what waits for this work may keep the turn from
// ever coming, as it is in flight itself.
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

// woken returns when the turn has come, or ctx has ended, and counts the work.
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

// Pause implements Pauser, for what the work calls.
func (g *Gate) Pause() { g.current().Pause() }

// Resume implements Pauser.
func (g *Gate) Resume() { g.current().Resume() }

func (g *Gate) current() *Work {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.work
}

// Leave takes the work back for good.
func (g *Gate) Leave() { g.current().End() }

// AtLast calls do at the end of what is done at this instant, so that what happens at a
// limit is in time. It may return before; do is in flight as work of kind k. Key is that
// of its turn. Without turns, do is called at once.
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
