package inflight

import (
	"context"
	"sync"
)

// Line distributes work to workers. Work is counted from Join until End. Next returns it to a
// worker: at once, in the order of Join, or, if work takes turns, when its turn has come, or, while
// the ledger pauses work, when it is stepped.
//
//	the caller of Join      the ledger              a worker
//	Join(a)                 1 key waits
//	Join(b)                 2 keys wait
//	ends its own work       2 keys wait, b's turn
//	                        1 key runs, 1 waits     Next returns b
//	                        1 key runs, 1 waits     all work that b started ends
//	                        1 key waits, a's turn   b.End
//
// The lock order is: the user's locks, the ledger's, the line's. The ledger grants a turn under
// its own lock, so granting only moves the ticket to where Next finds it.
type Line[T any] struct {
	ledger *Ledger
	kind   Kind
	name   string
	turns  bool
	// ahead means that other work in flight waits for this: no step is needed.
	ahead bool

	wake  chan struct{} // has a value when ready may have a ticket
	ended chan struct{} // closed by Close

	mu     sync.Mutex
	ready  []*Ticket[T]
	closed bool
}

// Ticket is one piece of work in a Line.
type Ticket[T any] struct {
	// Value is the value passed to Join.
	Value T

	work Work
	line *Line[T]
	turn turn
	// at is guarded by the line's lock.
	at ticketPlace
}

type ticketPlace int

const (
	waiting ticketPlace = iota // in the ledger's line
	ready                      // Next may return it
	out                        // Next has returned it, or will not
)

// NewLine returns a line for work of kind k. The name, and the keys that Join is given,
// distinguish its work from other work of the ledger: the order of turns follows from them and
// the seed. First and Last are names, too.
func NewLine[T any](l *Ledger, k Kind, name string) *Line[T] {
	return &Line[T]{
		ledger: l, kind: k, name: name, turns: l.TakesTurns(),
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
}

// TakesTurns reports whether the work of the line waits for turns.
func (l *Line[T]) TakesTurns() bool { return l.turns }

// Join counts a piece of work and queues it for a worker.
func (l *Line[T]) Join(key string, value T) *Ticket[T] {
	t := &Ticket[T]{Value: value, line: l, work: Work{ledger: l.ledger, kind: l.kind}}
	if !l.turns {
		if l.ledger != nil {
			l.ledger.begin(l.kind, 1)
		}
		if l.isHeld() {
			t.turn = turn{ledger: l.ledger, kind: l.kind, index: -1, granted: func() { l.put(t) }}
			if t.turn.pause(Waiting{Kind: l.kind, Name: l.name, Key: key}) {
				return t
			}
		}
		l.put(t)
		return t
	}
	t.turn = turn{ledger: l.ledger, kind: l.kind, index: -1, granted: func() { l.put(t) }}
	t.turn.join(l.name, key)
	return t
}

// isHeld reports whether the ledger makes work of the line wait for steps.
func (l *Line[T]) isHeld() bool {
	return l.ledger != nil && !l.turns && !l.ahead && l.ledger.workPaused.Load()
}

// put makes the ticket available to Next. The ledger's lock may be held.
func (l *Line[T]) put(t *Ticket[T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.at = ready
	l.ready = append(l.ready, t)
	l.signal()
}

func (l *Line[T]) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take returns the first ready ticket; nil: none.
func (l *Line[T]) take() *Ticket[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.ready) > 0 {
		t := l.ready[0]
		l.ready[0] = nil
		if l.ready = l.ready[1:]; len(l.ready) > 0 {
			l.signal() // for another worker
		}
		if t.at == ready {
			t.at = out
			return t
		}
	}
	return nil
}

// hasReady reports whether Next would return without waiting.
func (l *Line[T]) hasReady() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.ready) > 0
}

// Next waits for a ticket. It returns false if none is ready and ctx has ended or Close was
// called.
func (l *Line[T]) Next(ctx context.Context) (*Ticket[T], bool) {
	for {
		if t := l.take(); t != nil {
			return t, true
		}
		select {
		case <-l.wake:
		case <-ctx.Done():
			return nil, false
		case <-l.ended:
			t := l.take()
			return t, t != nil
		}
	}
}

// Close makes Next return false instead of waiting. Work in the line stays counted until End.
func (l *Line[T]) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.ended)
	}
}

// Withdraw removes the ticket from the line, and reports whether it was there: false if Next has
// returned it. The work is in flight afterwards, as after Next.
func (t *Ticket[T]) Withdraw() bool {
	if t.turn.ledger != nil && t.turn.take() {
		t.line.mu.Lock()
		defer t.line.mu.Unlock()
		t.at = out
		return true
	}
	t.line.mu.Lock()
	defer t.line.mu.Unlock()
	was := t.at
	t.at = out // take passes over it
	return was == ready
}

// Hurry makes the ticket available to Next before its turn.
func (t *Ticket[T]) Hurry() {
	if t.turn.ledger != nil && t.turn.take() {
		t.line.put(t)
	}
}

// Return puts back a ticket that Next has returned: its work waits again, with the same position
// in the order of turns.
func (t *Ticket[T]) Return() {
	if !t.line.turns {
		t.line.put(t)
		return
	}
	t.line.mu.Lock()
	t.at = waiting
	t.line.mu.Unlock()
	t.turn.giveBack()
}

// Work returns the work of a ticket that Next has returned or Withdraw removed.
func (t *Ticket[T]) Work() *Work {
	if t.work.ledger == nil {
		return nil
	}
	return &t.work
}

// End ends the work of the ticket.
func (t *Ticket[T]) End() {
	if !t.isOut() {
		t.Withdraw()
	}
	t.Work().End()
}

func (t *Ticket[T]) isOut() bool {
	t.line.mu.Lock()
	defer t.line.mu.Unlock()
	return t.at == out
}
