package queue

import "minikcm.dev/minikcm/controllers/internal/scheduler/framework"

// maxInFlightEvents caps the recorded events. If more arrive while a pod is popped, it is
// retried without asking the hint.
const maxInFlightEvents = 4096

// inFlightEvents records the events that arrive while pods are popped, because their decisions
// are made on a snapshot that does not show them. The zero value is ready; the queue's mutex
// guards it.
//
//	deciding goroutine                     informer
//	p := Pop(), mark := begin()
//	snapshot: no node fits p               node n gets free CPU: Notify(n)
//	Reject(p): any(mark) finds n,          (p was not waiting, so Notify could not retry it)
//	p is retried at once
//
// Without the record p would wait for another event, although n has room for it.
type inFlightEvents struct {
	events   []framework.ClusterEvent
	base     int // the number of events before events[0]
	deciding int
}

// begin is called when a pod is popped. It returns the mark of the next event.
func (i *inFlightEvents) begin() (mark int) {
	i.deciding++
	return i.base + len(i.events)
}

// end is called when the decision on a popped pod is known.
func (i *inFlightEvents) end() {
	i.deciding--
	if i.deciding == 0 {
		i.forget()
	}
}

// add records an event if a pod is popped.
func (i *inFlightEvents) add(c framework.ClusterEvent) {
	if i.deciding == 0 {
		return
	}
	if len(i.events) == maxInFlightEvents {
		i.forget()
	}
	i.events = append(i.events, c)
}

func (i *inFlightEvents) forget() {
	i.base += len(i.events)
	clear(i.events) // release the pods
	i.events = i.events[:0]
}

// any reports whether hint approves an event since the mark.
func (i *inFlightEvents) any(mark int, hint func(c framework.ClusterEvent) bool) bool {
	if mark < i.base {
		return true
	}
	for _, c := range i.events[mark-i.base:] {
		if hint(c) {
			return true
		}
	}
	return false
}

// Notify retries the waiting pods that the hint approves for the event.
func (q *Queue) Notify(c framework.ClusterEvent) {
	if !c.Any() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inFlight.add(c)
	candidates := q.waiting
	switch {
	case len(c.Backed) > 0: // resources may have been a reason against any pod
	case c.OfDevices():
		candidates = q.withDevices
	case c.OfVolumes():
		candidates = q.withClaims
	case c.Node == "":
		candidates = q.byRules
	}
	var helped []*queuedPod
	for _, p := range candidates {
		if p.state == gated {
			if !q.gatedLocked(p) {
				helped = append(helped, p)
			}
		} else if p.any(func(p *queuedPod) bool { return q.hint(p.waiting(), c) }) {
			helped = append(helped, p)
		}
	}
	q.retryAllLocked(helped)
}
