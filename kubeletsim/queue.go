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
// From add to done it counts as an action in the ledger. Where the ledger makes work
// wait for its turn, a key waits for that.
type queue struct {
	ledger *clock.Ledger
	// settled says of a key that no worker has whether there is nothing that the last one
	// has not seen.
	settled func(key) bool
	// granted has the key whose turn it is; nil: keys come in the order of add. There
	// is one turn at a time, so there is room for it.
	granted chan key
	ended   chan struct{}

	mu     sync.Mutex
	filled *sync.Cond
	order  []key
	turns  map[key]*clock.Turn
	states map[key]keyState
	closed bool
}

type keyState int

const (
	queued keyState = iota + 1
	taken
	takenTold
	takenAgain
)

func newQueue(ledger *clock.Ledger, settled func(key) bool) *queue {
	q := &queue{ledger: ledger, settled: settled, states: map[key]keyState{}, turns: map[key]*clock.Turn{}, ended: make(chan struct{})}
	q.filled = sync.NewCond(&q.mu)
	if ledger.TakesTurns() {
		q.granted = make(chan key, 1)
	}
	return q
}

// add makes a worker look after k. After close it does nothing.
func (q *queue) add(k key) { q.addAs(k, takenAgain) }

// tell is add for what the API delivers, which most often is the echo of what k's worker
// wrote, and no work if nothing else came. Whether it comes before that has got the
// answer to its write is chance, which must not decide whose turn is when.
func (q *queue) tell(k key) { q.addAs(k, takenTold) }

func (q *queue) addAs(k key, again keyState) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	switch state := q.states[k]; state {
	case queued:
	case taken, takenTold, takenAgain:
		q.states[k] = max(state, again) // which is counted already, as it is taken
	default:
		if again == takenAgain || !q.settled(k) {
			q.enterLocked(k)
		}
	}
}

// enterLocked queues a key and counts it.
func (q *queue) enterLocked(k key) {
	q.states[k] = queued
	if q.granted != nil {
		q.turns[k] = q.ledger.Join(clock.Action, Component, k.id, func() { q.granted <- k })
		return
	}
	q.ledger.Begin(clock.Action, 1)
	q.order = append(q.order, k)
	q.filled.Signal()
}

// take waits for the next key; ok is false once the queue is closed.
func (q *queue) take() (k key, ok bool) {
	if q.granted != nil {
		return q.takeGranted()
	}
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

func (q *queue) takeGranted() (k key, ok bool) {
	select {
	case k = <-q.granted:
	case <-q.ended:
		return key{}, false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return key{}, false // close has ended it
	}
	delete(q.turns, k)
	q.states[k] = taken
	return k, true
}

// done gives back a key that take returned.
func (q *queue) done(k key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	state := q.states[k]
	delete(q.states, k)
	if !q.closed && (state == takenAgain || state == takenTold && !q.settled(k)) {
		q.enterLocked(k)
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
	close(q.ended)
	for k, turn := range q.turns {
		turn.Take()
		delete(q.states, k)
	}
	for _, k := range q.order {
		delete(q.states, k)
	}
	q.ledger.End(clock.Action, len(q.order)+len(q.turns))
	q.order = nil
	clear(q.turns)
	q.filled.Broadcast()
}
