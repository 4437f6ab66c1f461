package clock

import (
	"slices"
	"time"
)

// offer is a value on its way through a timer's channel.
type offer struct {
	cancel   chan struct{} // closed by Stop
	ended    chan struct{} // closed when received is known
	received bool
}

// runQueue fires the queued timers one after the other, and ends when the queue is
// empty or the clock closed. It exists only while there is something to fire, so
// that a clock at rest has no goroutine.
func (v *Virtual) runQueue() {
	ended := false
	defer func() {
		// A function that ends its goroutine (a failing test) must not stop time.
		if !ended {
			v.routine.Go(v.runQueue)
		}
	}()
	for {
		t := v.nextTurn()
		if t == nil {
			ended = true
			return
		}
		if t.f != nil {
			v.call(t)
		}
	}
}

func (v *Virtual) call(t *virtualTimer) {
	defer v.ledger.End(Callback, 1)
	t.f()
}

// nextTurn takes the head of the queue once nothing else is in flight, and whatever must
// not wait at once. A timer with a channel is on offer when nextTurn returns it.
func (v *Virtual) nextTurn() *virtualTimer {
	l := v.ledger
	for {
		l.mu.Lock()
		if len(v.queue) == 0 {
			v.running = false
			l.mu.Unlock()
			return nil
		}
		if t := v.mayFireLocked(); t != nil {
			v.takeTurnLocked(t)
			if t.ch != nil {
				v.offerLocked(t)
			}
			l.mu.Unlock()
			return t
		}
		quiet := l.whenQuietLocked()
		l.mu.Unlock()
		select {
		case <-quiet:
		case <-v.closed: // Close empties the queue
		}
	}
}

// mayFireLocked takes the timer out of the queue that may fire now; nil if none may.
func (v *Virtual) mayFireLocked() *virtualTimer {
	at := 0
	if v.ledger.total != v.ledger.turns {
		if at = slices.IndexFunc(v.queue, func(t *virtualTimer) bool { return t.urgent }); at < 0 {
			return nil
		}
	}
	t := v.queue[at]
	v.queue = slices.Delete(v.queue, at, at+1)
	return t
}

// offerLocked offers the timer's value, which has been counted as a Tick, to
// whoever receives first.
func (v *Virtual) offerLocked(t *virtualTimer) {
	o := &offer{cancel: make(chan struct{}), ended: make(chan struct{})}
	t.offer = o
	value := v.Now()
	v.routine.Go(func() { v.sendOffer(t, o, value) })
}

func (v *Virtual) sendOffer(t *virtualTimer, o *offer, value time.Time) {
	select {
	case t.ch <- value:
		o.received = true
	case <-o.cancel:
	case <-v.closed:
	}
	close(o.ended)
	l := v.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.offer == o {
		t.offer = nil
	}
	l.endLocked(Tick, 1)
}
