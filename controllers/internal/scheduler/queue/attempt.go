package queue

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/internal/inflight"
)

// Attempt is a popped pod, in the state in which it was popped.
type Attempt struct {
	*queuedPod
	// Info is nil for a group; then Group is its name, and Members are its pods, in the order in which they are
	// decided on.
	Info      *framework.PodInfo
	Group     types.NamespacedName
	Members   []*Attempt
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
	// Expected is the node that the pod's status names while its volumes and devices are bound; "": none.
	Expected string
}

// Pop waits for the next pod or group; it returns nil when the queue is closed, or has none to pop and ctx has ended. The
// caller ends the attempt of a pod with Done, Reject or Fail, or calls Decided and then Done or Fail.
//
// Whichever pod's ticket is next in the line, Pop returns the pod of the highest priority.
// The line hands out a ticket only when the ledger has no earlier work, so all pods that
// could have a higher priority are in the queue by then.
func (q *Queue) Pop(ctx context.Context) *Attempt {
	for {
		next, ok := q.line.Next(ctx)
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
	if next.group != nil {
		return next.group.attempt(next)
	}
	return attemptOf(next)
}

func attemptOf(p *queuedPod) *Attempt {
	return &Attempt{queuedPod: p, Info: p.info, Nominated: p.nominated, HasNode: p.hasNode}
}

func (q *Queue) activateReadyLocked() {
	now := q.clock.Now()
	for q.backoff.len() > 0 && !q.backoff.peek().readyAt.After(now) {
		q.moveLocked(q.backoff.peek(), active)
	}
}

// Decided marks a popped pod as having a node; its binding is being written. It returns false for a pod of a group
// that has been removed.
func (q *Queue) Decided(a *Attempt) bool {
	p := a.queuedPod
	q.mu.Lock()
	defer q.mu.Unlock()
	switch p.state {
	case nowhere:
		return false
	case member:
		q.leaveLocked(p)
		p.ticket = q.line.Join(string(p.id), p)
		p.ticket.Withdraw()
	default:
		q.inFlight.end()
	}
	q.moveLocked(p, binding)
	return true
}

// Work returns the work that counts the attempt of a pod; nil: it is not counted. The attempt's requests may
// pause it.
func (q *Queue) Work(a *Attempt) *inflight.Work {
	q.mu.Lock()
	defer q.mu.Unlock()
	if a.queuedPod.ticket == nil {
		return nil
	}
	return a.queuedPod.ticket.Work()
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
	a.keepReasons()
	helped := q.inFlight.any(p.seen, func(c framework.ClusterEvent) bool { return q.hint(p.waiting(), c) })
	q.putBackLocked(p, helped || p.changed)
}

// keepReasons records the decision's reasons against the pod.
func (a *Attempt) keepReasons() {
	p := a.queuedPod
	p.byRules, p.byVolumes, p.byResources, p.byExtenders = a.ByRules, a.ByVolumes, a.ByResources, a.ByExtenders
	p.byDevices, p.onlyDevices = a.ByDevices, a.OnlyDevices
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
	q.failLocked(p, q.backoffOf(p.failed))
}

// failLocked makes a pod wait before it can be popped.
func (q *Queue) failLocked(p *queuedPod, wait time.Duration) {
	q.stopTimerLocked(p)
	q.timers.Add(1)
	// The timer must exist before the ledger stops counting the pod: time may move on then.
	timer := q.clock.AfterFunc(wait, func() {
		defer q.timers.Done()
		q.mu.Lock()
		defer q.mu.Unlock()
		if p.state != failing || q.closed {
			return
		}
		p.timer = nil
		switch {
		case p.group != nil:
			q.placeLocked(p)
		case q.hasGroup(p.info.Pod):
			q.joinLocked(p)
		default:
			q.moveLocked(p, active)
		}
	})
	q.moveLocked(p, failing)
	p.timer = timer
}
