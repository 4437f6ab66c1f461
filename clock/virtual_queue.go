package clock

import (
	"slices"
	"time"

	"minikcm.dev/minikcm/internal/inflight"
)

// offer is a value on its way through a timer's channel.
type offer struct {
	cancel   chan struct{} // closed by Stop
	ended    chan struct{} // closed when received is known
	received bool
	work     inflight.Due
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
		f, work := v.nextTurn()
		if f == nil {
			ended = true
			return
		}
		call(f, &work)
	}
}

func call(f func(), work *inflight.Due) {
	defer work.End()
	f()
}

// nextTurn returns the function that is next and may run, and its count in the ledger; nil once
// the queue is empty. A timer with a channel is offered on the way.
func (v *Virtual) nextTurn() (f func(), work inflight.Due) {
	for {
		v.mu.Lock()
		if len(v.queue) == 0 {
			v.running = false
			v.mu.Unlock()
			return nil, inflight.Due{}
		}
		t, quiet := v.mayFireLocked()
		switch {
		case t == nil:
			v.mu.Unlock()
			select {
			case <-quiet:
			case <-v.urgent:
			case <-v.closed: // Close empties the queue
			}
		case t.f != nil:
			work = t.work
			v.mu.Unlock()
			return t.f, work
		default:
			v.offerLocked(t)
			v.mu.Unlock()
		}
	}
}

// mayFireLocked takes the timer out of the queue that may fire now, and counts it as
// fired. If there is none, quiet is closed when there may be one.
func (v *Virtual) mayFireLocked() (t *virtualTimer, quiet <-chan struct{}) {
	at := 0
	fired, quiet := v.queue[0].work.TryFire()
	if !fired {
		if at = slices.IndexFunc(v.queue, func(t *virtualTimer) bool { return t.urgent }); at < 0 {
			return nil, quiet
		}
		v.queue[at].work.Fire()
	}
	t = v.queue[at]
	v.queue = slices.Delete(v.queue, at, at+1)
	t.queued, t.urgent = false, false
	return t, nil
}

// offerLocked offers the timer's value, which its work counts as a Tick, to the first
// receiver.
func (v *Virtual) offerLocked(t *virtualTimer) {
	o := &offer{cancel: make(chan struct{}), ended: make(chan struct{}), work: t.work}
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
	v.mu.Lock()
	defer v.mu.Unlock()
	if t.offer == o {
		t.offer = nil
	}
	o.work.End()
}
