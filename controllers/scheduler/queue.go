package scheduler

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	utilclock "k8s.io/utils/clock"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/inflight"
)

// place is where a queued pod is.
type place int

const (
	// nowhere: not yet, or no longer, in the queue.
	nowhere place = iota
	// active: to be decided upon next, by priority.
	active
	// backingOff: would be active but for its back-off; taken all the same when
	// nothing is active, as kube-scheduler does.
	backingOff
	// failing: waits for the end of its back-off after an error.
	failing
	// unschedulable: waits until a node changes.
	unschedulable
	// gated: has scheduling gates.
	gated
	// deciding: popped, and its decision is not yet known or not yet written.
	deciding
	// binding: popped, decided upon, and being bound.
	binding
)

// counted says which places the ledger counts: those that need no time to pass
// and nothing to happen.
func (p place) counted() bool {
	return p == active || p == backingOff || p == deciding || p == binding
}

// waits says in which places a pod waits to be decided upon.
func (p place) waits() bool { return p == active || p == backingOff }

// queuedPod is a pod without a node. All but info is guarded by the queue.
type queuedPod struct {
	info *PodInfo
	// nominated is the node that is being freed for the pod; "": none.
	nominated string

	place place
	index int
	// since is when the pod came into the queue, or back to it.
	since time.Time
	// rejected and failed count the fruitless decisions and the errors so far.
	rejected, failed int
	// readyAt is the end of the back-off.
	readyAt time.Time
	timer   utilclock.Timer
	// seen is how many improvements there had been when it was popped.
	seen int
	// ticket counts the pod while its place is one that is counted; while it is active or
	// backing off, it is in line.
	ticket *inflight.Ticket[*queuedPod]
	// ruled is set if the last decision met pods elsewhere that it must keep clear
	// of, or near to.
	ruled bool
	// deleted and changed: what happened to the pod while it was popped.
	deleted bool
	changed bool
}

// queue holds the pods that have no node.
//
// It is no inflight.Queue, as whichever pod's turn it is, the best one of all is decided
// upon, and a pod that waits may move from one heap to another, or out.
type queue struct {
	clock clock.Clock
	// line hands a ticket over for each pod that waits to be decided upon.
	line *inflight.Line[*queuedPod]
	// helps reports whether the change may let the pod in.
	helps func(q *queuedPod, c change) bool

	mu       sync.Mutex
	closed   bool
	pods     map[types.UID]*queuedPod
	active   *podHeap
	backoff  *podHeap
	waiting  map[types.UID]*queuedPod // the unschedulable ones
	ruled    map[types.UID]*queuedPod // those among them
	improved improvements
	flush    utilclock.Timer
	timers   sync.WaitGroup
}

func newQueue(c clock.Clock, ledger *clock.Ledger, helps func(q *queuedPod, c change) bool) *queue {
	return &queue{
		clock:   c,
		line:    inflight.NewLine[*queuedPod](ledger, inflight.Key, Name),
		helps:   helps,
		pods:    map[types.UID]*queuedPod{},
		waiting: map[types.UID]*queuedPod{},
		ruled:   map[types.UID]*queuedPod{},
		active:  newPodHeap(before),
		backoff: newPodHeap(readyBefore),
	}
}

// before is PrioritySort: the more important first, then the older. Those of one
// instant are taken by name, so that it matters less which event came first.
func before(a, b *queuedPod) bool {
	if a.info.Priority != b.info.Priority {
		return a.info.Priority > b.info.Priority
	}
	if !a.since.Equal(b.since) {
		return a.since.Before(b.since)
	}
	return cmp.Or(
		strings.Compare(a.info.Pod.Namespace, b.info.Pod.Namespace),
		strings.Compare(a.info.Pod.Name, b.info.Pod.Name),
		strings.Compare(string(a.info.Pod.UID), string(b.info.Pod.UID)),
	) < 0
}

func readyBefore(a, b *queuedPod) bool {
	if !a.readyAt.Equal(b.readyAt) {
		return a.readyAt.Before(b.readyAt)
	}
	return before(a, b)
}

// set takes over a pod that has no node: a new one, or a new state of one.
func (q *queue) set(pod *corev1.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return // an informer may deliver a last event when its handler is removed
	}
	known := q.pods[pod.UID]
	if known == nil {
		known = &queuedPod{info: NewPodInfo(pod), nominated: pod.Status.NominatedNodeName, index: -1}
		q.pods[pod.UID] = known
		q.enterLocked(known)
		return
	}
	if sameSpec(known.info.Pod, pod) {
		known.info = known.info.withPod(pod)
		return
	}
	// A pod's priority cannot change, so it keeps its place in a heap.
	known.info = NewPodInfo(pod)
	isGated := len(pod.Spec.SchedulingGates) > 0
	switch known.place {
	case deciding, binding:
		known.changed = true
	case unschedulable, gated:
		if !isGated {
			q.retryLocked(known)
		}
	}
}

func sameSpec(old, pod *corev1.Pod) bool {
	if old.ResourceVersion == pod.ResourceVersion && pod.ResourceVersion != "" {
		return true
	}
	return old.Generation == pod.Generation && equality.Semantic.DeepEqual(old.Labels, pod.Labels) &&
		equality.Semantic.DeepEqual(old.Spec, pod.Spec)
}

// remove forgets a pod that is deleted, or has a node.
func (q *queue) remove(uid types.UID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	known := q.pods[uid]
	if known == nil {
		return
	}
	if known.place == deciding || known.place == binding {
		known.deleted = true
		return
	}
	q.dropLocked(known)
}

// attempt is a pod that is being decided upon, as it was when it was popped.
type attempt struct {
	*queuedPod
	info      *PodInfo
	nominated string
	// ruled is the decision's: see queuedPod.
	ruled bool
}

// pop waits for the next pod to decide upon; nil when the queue is closed. What
// pops calls one of done, reject and fail, or decided and then done or fail. Whichever
// pod's ticket is next, the best pod is decided upon: the ledger knows by then of all
// that could be better.
func (q *queue) pop() *attempt {
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

// popFor returns the best pod, and puts the one whose ticket was next back in line if it
// is another; nil if that one has been dropped meanwhile.
func (q *queue) popFor(next *inflight.Ticket[*queuedPod]) *attempt {
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

// bestLocked is the pod to decide upon next; nil: there is none.
func (q *queue) bestLocked() *queuedPod {
	switch {
	case q.active.len() > 0:
		return q.active.peek()
	case q.backoff.len() > 0:
		return q.backoff.peek()
	}
	return nil
}

func (q *queue) takeLocked(next *queuedPod) *attempt {
	q.moveLocked(next, deciding)
	next.seen = q.improved.begin()
	next.changed = false
	return &attempt{queuedPod: next, info: next.info, nominated: next.nominated}
}

func (q *queue) activateReadyLocked() {
	now := q.clock.Now()
	for q.backoff.len() > 0 && !q.backoff.peek().readyAt.After(now) {
		q.moveLocked(q.backoff.peek(), active)
	}
}

// decided says that a popped pod has a node and is being bound.
func (q *queue) decided(a *attempt) {
	p := a.queuedPod
	q.mu.Lock()
	defer q.mu.Unlock()
	q.improved.end()
	q.moveLocked(p, binding)
}

// nominate notes the node that is being freed for a popped pod; "": none.
func (q *queue) nominate(a *attempt, node string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	a.queuedPod.nominated = node
}

// done forgets a popped pod: it is bound, or there is nothing to do for it.
func (q *queue) done(a *attempt) {
	p := a.queuedPod
	q.mu.Lock()
	defer q.mu.Unlock()
	q.endLocked(p)
	q.dropLocked(p)
}

// reject puts a popped pod back that fits nowhere. Was there a change meanwhile
// that helps, it is retried at once.
func (q *queue) reject(a *attempt) {
	p := a.queuedPod
	q.mu.Lock()
	defer q.mu.Unlock()
	p.rejected++
	p.failed = 0
	p.ruled = a.ruled
	helped := q.improved.any(p.seen, func(c change) bool { return q.helps(p, c) })
	q.putBackLocked(p, helped || p.changed)
}

// fail puts a popped pod back whose decision or binding met an error: it is
// retried after its back-off.
func (q *queue) fail(a *attempt) {
	p := a.queuedPod
	q.mu.Lock()
	defer q.mu.Unlock()
	p.failed++
	q.endLocked(p)
	if p.deleted || q.closed {
		q.dropLocked(p)
		return
	}
	q.stampLocked(p)
	q.timers.Add(1)
	// Before the pod counts no longer: time may move on then.
	p.timer = q.clock.AfterFunc(backoffOf(p.failed), func() {
		defer q.timers.Done()
		q.mu.Lock()
		defer q.mu.Unlock()
		if p.place == failing && !q.closed {
			p.timer = nil
			q.moveLocked(p, active)
		}
	})
	q.moveLocked(p, failing)
}

func (q *queue) putBackLocked(p *queuedPod, again bool) {
	q.endLocked(p)
	if p.deleted || q.closed {
		q.dropLocked(p)
		return
	}
	q.stampLocked(p)
	p.readyAt = p.since.Add(backoffOf(p.rejected))
	switch {
	case len(p.info.Pod.Spec.SchedulingGates) > 0:
		q.moveLocked(p, gated)
	case again:
		q.retryLocked(p)
	default:
		q.armFlushLocked(unschedulableFor) // before time may move on, too
		q.moveLocked(p, unschedulable)
	}
}

// endLocked ends a pod's interest in what happens while it is decided upon.
func (q *queue) endLocked(p *queuedPod) {
	if p.place == deciding {
		q.improved.end()
	}
}

// enterLocked puts a new pod where it belongs.
func (q *queue) enterLocked(p *queuedPod) {
	q.stampLocked(p)
	if len(p.info.Pod.Spec.SchedulingGates) > 0 {
		q.moveLocked(p, gated)
		return
	}
	q.retryLocked(p)
}

// retryLocked lets the pod be decided upon, at once or when its back-off ends.
func (q *queue) retryLocked(p *queuedPod) {
	if p.readyAt.After(q.clock.Now()) {
		q.moveLocked(p, backingOff)
	} else {
		q.moveLocked(p, active)
	}
}

func (q *queue) stampLocked(p *queuedPod) {
	p.since = q.clock.Now()
}

// moveLocked changes a pod's place, and with it how it counts.
func (q *queue) moveLocked(p *queuedPod, to place) {
	from := p.place
	q.countLocked(p, to)
	switch from {
	case active:
		q.active.remove(p)
	case backingOff:
		q.backoff.remove(p)
	case unschedulable:
		delete(q.waiting, p.info.Pod.UID)
		delete(q.ruled, p.info.Pod.UID)
	case failing:
		q.stopTimerLocked(p)
	}
	p.place = to
	switch to {
	case active:
		q.active.push(p)
	case backingOff:
		q.backoff.push(p)
	case unschedulable:
		q.waiting[p.info.Pod.UID] = p
		if p.ruled {
			q.ruled[p.info.Pod.UID] = p
		}
	}
	if from.counted() && !to.counted() {
		p.ticket.End()
		p.ticket = nil
	}
}

// countLocked lets a pod join the line that is to be decided upon, and leave it.
func (q *queue) countLocked(p *queuedPod, to place) {
	waited, waits := p.place.waits(), to.waits()
	switch {
	case waited && !waits:
		p.ticket.Withdraw()
	case waits && !waited:
		before := p.ticket
		p.ticket = q.line.Join(string(p.info.Pod.UID), p)
		if before != nil {
			before.End()
		}
	}
}

func (q *queue) stopTimerLocked(p *queuedPod) {
	if p.timer != nil && p.timer.Stop() {
		q.timers.Done()
	}
	p.timer = nil
}

func (q *queue) dropLocked(p *queuedPod) {
	q.moveLocked(p, nowhere)
	delete(q.pods, p.info.Pod.UID)
}

// close ends pop, and forgets all pods that are not popped.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.line.Close()
	for _, p := range q.pods {
		if p.place != deciding && p.place != binding {
			q.dropLocked(p)
		}
	}
	if q.flush != nil && q.flush.Stop() {
		q.timers.Done()
	}
	q.mu.Unlock()
	q.timers.Wait()
}

// isNew reports whether the queue does not have the pod.
func (q *queue) isNew(uid types.UID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pods[uid] == nil
}

// outranked takes the nominated node from a pod, and lets it look for another.
func (q *queue) outranked(uid types.UID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.pods[uid]
	if p == nil {
		return
	}
	p.nominated = ""
	p.changed = true
	if p.place == unschedulable {
		q.retryLocked(p)
	}
}
