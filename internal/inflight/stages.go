package inflight

import (
	"context"
	"strings"
)

// PauseStages is PauseWork for the stages within a piece of work, too: StopAt and Arrive wait for steps. Work that has begun and
// does not stop goes on. What waits at a stage comes before what waits for a worker, so that a piece of work
// that has begun ends before the next one begins.
//
//	a reconcile            the ledger                         the caller of Step
//	                       1 key waits                        Step: the key
//	decides, StopAt        1 key waits, at its decision       returns; Step: the decision
//	writes                 1 key runs, 1 request
//	ends                   2 keys wait, of the write's event  returns
func (l *Ledger) PauseStages() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.takes.paused = true
	l.workPaused.Store(true)
	l.stagesPaused.Store(true)
}

// StagesPaused reports whether work waits at its stages. It costs the load of a pointer and of a flag.
func (l *Ledger) StagesPaused() bool { return l != nil && l.stagesPaused.Load() }

// Waiting describes a piece of work that waits for a step.
type Waiting struct {
	Kind Kind
	// Name and Key are the names of the line in which the work waits and of the work.
	Name, Key string
	// Detail describes the stage at which work stopped; nil: the work waits for a worker.
	Detail any
	// Begins means that the stage is the first one of its work, which comes after work that has begun.
	Begins bool
}

// String returns the names, separated by a space.
func (w *Waiting) String() string { return strings.TrimSpace(w.Name + " " + w.Key) }

// StopAt makes a piece of work that the caller has begun, of kind k, wait for a step if the ledger holds stages, or until ctx ends.
// One goroutine of the work may wait at a time.
func (l *Ledger) StopAt(ctx context.Context, k Kind, at Waiting) {
	if !l.StagesPaused() {
		return
	}
	passed := make(chan struct{})
	t := &turn{ledger: l, kind: k, index: -1, granted: func() { close(passed) }}
	if !t.pause(at) {
		return
	}
	select {
	case <-passed:
	case <-ctx.Done():
		t.take()
	}
}

// Arrival is a piece of work that waits at a stage, or has passed it. It is counted until End.
type Arrival struct {
	turn turn
	work *Work
}

// Arrive counts a piece of work of kind k, and calls granted when it may go on: at once if the ledger does not hold stages. granted
// is called under the ledger's lock otherwise: it must not block, nor call the ledger.
func (l *Ledger) Arrive(k Kind, at Waiting, granted func()) *Arrival {
	a := &Arrival{work: Begin(l, k)}
	a.turn = turn{ledger: l, kind: k, index: -1, granted: granted}
	if !l.StagesPaused() || !a.turn.pause(at) {
		granted()
	}
	return a
}

// Pass lets the work go on without a step.
func (a *Arrival) Pass() {
	if a.turn.ledger != nil && a.turn.take() {
		a.turn.granted()
	}
}

// End ends the work, also while it waits.
func (a *Arrival) End() {
	if a.turn.ledger != nil {
		a.turn.take()
	}
	a.work.End()
}

// Next returns the work that the next step takes, and how many pieces wait.
func (l *Ledger) Next() (next Waiting, count int) {
	if l == nil || !l.workPaused.Load() {
		return Waiting{}, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if count = len(l.takes.line); count > 0 {
		next = l.takes.line[0].at
	}
	return next, count
}

// Source is an informer whose events are counted. A handler with a method Attach(Source) gets the one that it is added to: client-go hides it
// behind informers of its own.
type Source interface {
	// Backlog returns the number of changes that have been received but are not in the informer's queue yet, and the
	// number of changes that are in the queue or on their way to the handlers.
	Backlog() (received, undelivered int)
	// StopHandler makes a handler that has been called with obj wait for a step, while the ledger holds stages.
	StopHandler(obj any, at Waiting)
}
