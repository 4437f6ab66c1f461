package queue

import (
	"context"

	"minikcm.dev/minikcm/clock/inflight"
	"minikcm.dev/minikcm/controllers/scheduler/framework"
)

// Attempt is a popped pod, in the state in which it was popped.
type Attempt struct {
	*queuedPod
	Info      *framework.PodInfo
	Nominated string
	// ByRules is set by the decision: pods on other nodes were a reason against a node.
	ByRules bool
	// ByVolumes is set by the decision: the pod's claims were the reason against all nodes.
	ByVolumes bool
	// ByResources is set by the decision: the pod's resources were a reason against a node.
	ByResources bool
	// ByDevices and OnlyDevices are set by the decision: the pod's resource claims, or extended resources
	// that are devices, were a reason against a node, or the reason against all nodes.
	ByDevices, OnlyDevices bool
	// ByExtenders is set by the decision: an extender excluded a node.
	ByExtenders bool
	// HasNode is set if the pod was parked: it has a node, and its volumes or devices are bound or
	// have failed.
	HasNode bool
	// Annotations explain the decision to the pod's users; nil: they did not ask for it.
	Annotations map[string]string
}

// Pop waits for the next pod; it returns nil when the queue is closed. The caller ends the
// attempt with Done, Reject or Fail, or calls Decided and then Done or Fail.
//
// Whichever pod's ticket is next in the line, Pop returns the pod of the highest priority.
// The line hands out a ticket only when the ledger has no earlier work, so all pods that
// could have a higher priority are in the queue by then.
func (q *Queue) Pop() *Attempt {
	for {
		next, ok := q.line.Next(context.Background()) // until close
		if !ok {
			return nil
		}
		if a := q.popFor(next); a != nil {
			return a
		}
	}
}

// popFor returns the best pod. If next is the ticket of another pod, that one goes back into
// the line. It returns nil if the pod of the ticket has been removed meanwhile.
func (q *Queue) popFor(next *inflight.Ticket[*queuedPod]) *Attempt {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || next.Value.ticket != next {
		return nil
	}
	if q.backoff.len() > 0 {
		q.activateReadyLocked()
	}
	best := q.bestLocked()
	a := q.takeLocked(best)
	if best != next.Value {
		next.Return()
	}
	return a
}

// bestLocked returns the pod to pop; nil: none.
func (q *Queue) bestLocked() *queuedPod {
	switch {
	case q.active.len() > 0:
		return q.active.peek()
	case q.backoff.len() > 0:
		return q.backoff.peek()
	}
	return nil
}

func (q *Queue) takeLocked(next *queuedPod) *Attempt {
	q.moveLocked(next, deciding)
	next.seen = q.inFlight.begin()
	next.changed = false
	return &Attempt{queuedPod: next, Info: next.info, Nominated: next.nominated, HasNode: next.hasNode}
}

func (q *Queue) activateReadyLocked() {
	now := q.clock.Now()
	for q.backoff.len() > 0 && !q.backoff.peek().readyAt.After(now) {
		q.moveLocked(q.backoff.peek(), active)
	}
}

// Decided marks a popped pod as having a node; its binding is being written.
func (q *Queue) Decided(a *Attempt) {
	p := a.queuedPod
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inFlight.end()
	q.moveLocked(p, binding)
}

// Nominate records the node that is being freed for a popped pod; "": none.
func (q *Queue) Nominate(a *Attempt, node string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	a.queuedPod.nominated = node
}

// Done removes a popped pod: it is bound, or does not need a node any more.
func (q *Queue) Done(a *Attempt) {
	p := a.queuedPod
	q.mu.Lock()
	defer q.mu.Unlock()
	q.endLocked(p)
	q.dropLocked(p)
}

// Reject puts back a popped pod that fits on no node. It is retried at once if an event that
// the hint approves arrived while it was popped.
func (q *Queue) Reject(a *Attempt) {
	p := a.queuedPod
	q.mu.Lock()
	defer q.mu.Unlock()
	p.rejected++
	p.failed = 0
	p.byRules, p.byVolumes, p.byResources, p.byExtenders = a.ByRules, a.ByVolumes, a.ByResources, a.ByExtenders
	p.byDevices, p.onlyDevices = a.ByDevices, a.OnlyDevices
	helped := q.inFlight.any(p.seen, func(c framework.ClusterEvent) bool { return q.hint(p.waiting(), c) })
	q.putBackLocked(p, helped || p.changed)
}

// Fail puts back a popped pod whose decision or binding failed with an error. It is retried
// after its back-off.
func (q *Queue) Fail(a *Attempt) {
	p := a.queuedPod
	q.mu.Lock()
	defer q.mu.Unlock()
	p.failed++
	p.hasNode = false
	q.endLocked(p)
	if p.deleted || q.closed {
		q.dropLocked(p)
		return
	}
	q.stampLocked(p)
	q.timers.Add(1)
	// The timer must exist before the ledger stops counting the pod: time may move on then.
	p.timer = q.clock.AfterFunc(q.backoffOf(p.failed), func() {
		defer q.timers.Done()
		q.mu.Lock()
		defer q.mu.Unlock()
		if p.state == failing && !q.closed {
			p.timer = nil
			q.moveLocked(p, active)
		}
	})
	q.moveLocked(p, failing)
}
