package scheduler

import "minikcm.dev/minikcm/clock"

// waits says in which places a pod waits to be decided upon.
func (p place) waits() bool { return p == active || p == backingOff }

// countLocked begins to count a pod that is moved to a place that is counted. Where
// the ledger makes work wait for its turn, the pod waits for it.
func (q *queue) countLocked(p *queuedPod, to place) {
	from := p.place
	switch {
	case q.granted != nil && from.waits() && !to.waits():
		// Its turn has come, or it is taken before the one whose turn has, or it is gone.
		p.turn.Take()
		p.turn = nil
	case q.granted != nil && to.waits() && !from.waits():
		p.turn = q.ledger.Join(clock.Key, Name, string(p.info.Pod.UID), func() { q.granted <- p })
		if from.counted() {
			q.ledger.End(clock.Key, 1)
		}
	case to.counted() && !from.counted():
		q.ledger.Begin(clock.Key, 1)
	}
}

// popInTurn is pop where the scheduler waits for its turn. Whichever pod's it is, the
// best one is decided upon.
func (q *queue) popInTurn() *attempt {
	for {
		var granted *queuedPod
		select {
		case granted = <-q.granted:
		case <-q.ended:
			return nil
		}
		q.mu.Lock()
		a := q.popGrantedLocked(granted)
		q.mu.Unlock()
		if a != nil {
			return a
		}
	}
}

func (q *queue) popGrantedLocked(granted *queuedPod) *attempt {
	if q.closed || granted.turn == nil {
		return nil // it has been dropped, and counts no longer
	}
	if q.backoff.len() > 0 {
		q.activateReadyLocked()
	}
	best := q.bestLocked()
	a := q.takeLocked(best)
	if best != granted {
		granted.turn.Return()
	}
	return a
}
