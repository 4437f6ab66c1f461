package kubeletsim

import (
	"sync"

	"minikcm.dev/minikcm/clock"
)

// key names what a worker has to look after: a pod by UID, or a node by name.
type key struct {
	node bool
	id   string
}

func podKey(uid string) key   { return key{id: uid} }
func nodeKey(name string) key { return key{node: true, id: name} }

// queue hands keys to workers. A key is with at most one worker at a time and
// waits at most once; added while a worker has it, it comes again afterwards.
// From add to done it counts as an action in the ledger.
type queue struct {
	ledger *clock.Ledger

	mu     sync.Mutex
	filled *sync.Cond
	order  []key
	states map[key]keyState
	closed bool
}

type keyState int

const (
	queued keyState = iota + 1
	taken
	takenAgain
)

func newQueue(ledger *clock.Ledger) *queue {
	q := &queue{ledger: ledger, states: map[key]keyState{}}
	q.filled = sync.NewCond(&q.mu)
	return q
}

// add makes a worker look after k. After close it does nothing.
func (q *queue) add(k key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	switch q.states[k] {
	case queued, takenAgain:
		return
	case taken:
		q.states[k] = takenAgain
	default:
		q.states[k] = queued
		q.order = append(q.order, k)
		q.filled.Signal()
	}
	q.ledger.Begin(clock.Action, 1)
}

// take waits for the next key; ok is false once the queue is closed.
func (q *queue) take() (k key, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.order) == 0 && !q.closed {
		q.filled.Wait()
	}
	if q.closed {
		return key{}, false
	}
	k, q.order = q.order[0], q.order[1:]
	q.states[k] = taken
	return k, true
}

// done gives back a key that take returned.
func (q *queue) done(k key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.states[k] != takenAgain:
		delete(q.states, k)
	case q.closed:
		delete(q.states, k)
		q.ledger.End(clock.Action, 1)
	default:
		q.states[k] = queued
		q.order = append(q.order, k)
		q.filled.Signal()
	}
	q.ledger.End(clock.Action, 1)
}

// close ends all takes and forgets what waits.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closed = true
	q.ledger.End(clock.Action, len(q.order))
	for _, k := range q.order {
		delete(q.states, k)
	}
	q.order = nil
	q.filled.Broadcast()
}
