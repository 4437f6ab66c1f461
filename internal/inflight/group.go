package inflight

import (
	"context"
	"sync"
)

// Group is a set of goroutines. Each is counted from before its start.
type Group struct {
	ledger *Ledger
	kind   Kind

	mu      sync.Mutex
	closed  bool
	left    int
	ended   *Latch // opened when left is 0; nil: nothing waits for that
	members sync.WaitGroup
}

// NewGroup returns a group of goroutines whose work is of kind k.
func NewGroup(l *Ledger, k Kind) *Group { return &Group{ledger: l, kind: k} }

// Go runs do in a goroutine, unless the group is closed. Its work is counted until do returns,
// or ends the work itself.
func (g *Group) Go(do func(w *Work)) (started bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	w := Begin(g.ledger, g.kind)
	g.left++
	g.members.Go(func() {
		defer w.End()
		defer g.leave()
		do(w)
	})
	return true
}

// GoInTurn is Go for work that begins in its turn, if work takes turns: when no other work is in
// flight any more. Name and key identify it in the order of turns, as in Line. If ctx ends
// before, do is not called.
func (g *Group) GoInTurn(ctx context.Context, name, key string, do func(w *Work)) (started bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	line := NewLine[struct{}](g.ledger, g.kind, name)
	ticket := line.Join(key, struct{}{})
	g.left++
	g.members.Go(func() {
		defer ticket.End()
		defer g.leave()
		if _, granted := line.Next(ctx); granted && ctx.Err() == nil {
			do(ticket.Work())
		}
	})
	return true
}

func (g *Group) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left--; g.left == 0 && g.ended != nil {
		g.ended.Open() // while the last one is still counted
		g.ended = nil
	}
}

// Wait returns when all goroutines have ended. The work that ctx belongs to (With) is not in
// flight meanwhile. The end of ctx does not end the wait: the goroutines have to end by
// themselves. At most one of several concurrent callers may be counted work.
func (g *Group) Wait(ctx context.Context) {
	g.mu.Lock()
	var ended *Latch
	if g.left > 0 {
		if g.ended == nil {
			g.ended = &Latch{}
		}
		ended = g.ended
	}
	g.mu.Unlock()
	if ended != nil {
		_ = ended.Wait(context.WithoutCancel(ctx)) // which never ends
	}
	g.members.Wait()
}

// Close prevents further goroutines from starting, and waits until all have ended.
func (g *Group) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.members.Wait()
}
