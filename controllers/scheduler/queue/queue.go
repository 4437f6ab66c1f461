package queue

import (
	"cmp"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	utilclock "k8s.io/utils/clock"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/inflight"
	"minikcm.dev/minikcm/controllers/scheduler/framework"
)

// Queue holds the pods that have no node. It is safe for concurrent use.
//
// It is not an inflight.Queue: whichever pod's turn it is, Pop returns the pod of the highest
// priority, and a waiting pod may move between heaps or be removed.
type Queue struct {
	clock clock.Clock
	// line has a ticket for each pod that waits to be popped.
	line *inflight.Line[*queuedPod]
	hint Hint
	// ready reports whether the resource claims of a pod exist.
	ready func(p *framework.PodInfo) bool
	// initial and longest limit the back-offs.
	initial, longest time.Duration

	mu      sync.Mutex
	closed  bool
	pods    map[types.UID]*queuedPod
	active  *podHeap
	backoff *podHeap
	waiting map[types.UID]*queuedPod // the unschedulable pods
	byRules map[types.UID]*queuedPod // those among them
	// withClaims are the unschedulable pods that use claims.
	withClaims map[types.UID]*queuedPod
	// withDevices are the unschedulable and gated pods that use resource claims, and those that devices were
	// a reason against.
	withDevices map[types.UID]*queuedPod
	inFlight    inFlightEvents
	flush       utilclock.Timer
	timers      sync.WaitGroup
}

// Options configure a queue.
type Options struct {
	// Name is the name of its work in the ledger.
	Name string
	// Hint decides which waiting pods an event retries.
	Hint Hint
	// Ready approves pods that use resource claims: they are popped only while it does. It is asked
	// under the queue's lock.
	Ready func(p *framework.PodInfo) bool
	// InitialBackoff is the back-off after one unsuccessful attempt, MaxBackoff the longest; 0 means
	// kube-scheduler's default.
	InitialBackoff, MaxBackoff time.Duration
}

// New returns an empty queue.
func New(c clock.Clock, ledger *clock.Ledger, opts Options) *Queue {
	return &Queue{
		clock:       c,
		line:        inflight.NewLine[*queuedPod](ledger, inflight.Key, opts.Name),
		hint:        opts.Hint,
		ready:       opts.Ready,
		initial:     cmp.Or(opts.InitialBackoff, initialBackoff),
		longest:     cmp.Or(opts.MaxBackoff, maxBackoff),
		pods:        map[types.UID]*queuedPod{},
		waiting:     map[types.UID]*queuedPod{},
		byRules:     map[types.UID]*queuedPod{},
		withClaims:  map[types.UID]*queuedPod{},
		withDevices: map[types.UID]*queuedPod{},
		active:      newPodHeap(before),
		backoff:     newPodHeap(readyBefore),
	}
}

// gatedLocked reports whether the pod must not be popped: it has scheduling gates, or resource
// claims that do not exist.
func (q *Queue) gatedLocked(p *framework.PodInfo) bool {
	return len(p.Pod.Spec.SchedulingGates) > 0 || len(p.Pod.Spec.ResourceClaims) > 0 && !q.ready(p)
}

// Set stores the state of a pod that has no node.
func (q *Queue) Set(pod *corev1.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return // an informer may deliver an event after its handler is removed
	}
	known := q.pods[pod.UID]
	if known == nil {
		known = &queuedPod{info: framework.NewPodInfo(pod), nominated: pod.Status.NominatedNodeName, index: -1}
		q.pods[pod.UID] = known
		q.enterLocked(known)
		return
	}
	if sameSpec(known.info.Pod, pod) {
		known.info = known.info.WithPod(pod)
		if known.state == gated && !q.gatedLocked(known.info) { // its status names its claims now
			q.retryLocked(known)
		}
		return
	}
	// A pod's priority cannot change, so it keeps its position in a heap.
	known.info = framework.NewPodInfo(pod)
	isGated := q.gatedLocked(known.info)
	switch known.state {
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

// Remove removes a pod that is deleted or has a node.
func (q *Queue) Remove(uid types.UID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	known := q.pods[uid]
	if known == nil {
		return
	}
	if known.state == deciding || known.state == binding {
		known.deleted = true
		return
	}
	q.dropLocked(known)
}

func (q *Queue) putBackLocked(p *queuedPod, again bool) {
	q.endLocked(p)
	if p.deleted || q.closed {
		q.dropLocked(p)
		return
	}
	q.stampLocked(p)
	p.readyAt = p.since.Add(q.backoffOf(p.rejected))
	switch {
	case q.gatedLocked(p.info):
		q.moveLocked(p, gated)
	case again:
		q.retryLocked(p)
	default:
		q.armFlushLocked(unschedulableFor) // before time can move on
		q.moveLocked(p, unschedulable)
	}
}

// endLocked ends the recording of events for a popped pod.
func (q *Queue) endLocked(p *queuedPod) {
	if p.state == deciding {
		q.inFlight.end()
	}
}

// enterLocked sets the first state of a new pod.
func (q *Queue) enterLocked(p *queuedPod) {
	q.stampLocked(p)
	if q.gatedLocked(p.info) {
		q.moveLocked(p, gated)
		return
	}
	q.retryLocked(p)
}

// retryLocked makes the pod ready to be popped, at once or when its back-off ends.
func (q *Queue) retryLocked(p *queuedPod) {
	if p.readyAt.After(q.clock.Now()) {
		q.moveLocked(p, backingOff)
	} else {
		q.moveLocked(p, active)
	}
}

func (q *Queue) stampLocked(p *queuedPod) {
	p.since = q.clock.Now()
}

// moveLocked changes the state of a pod, and the ledger's count with it.
func (q *Queue) moveLocked(p *queuedPod, to state) {
	from := p.state
	q.countLocked(p, to)
	switch from {
	case active:
		q.active.remove(p)
	case backingOff:
		q.backoff.remove(p)
	case unschedulable:
		delete(q.waiting, p.info.Pod.UID)
		delete(q.byRules, p.info.Pod.UID)
		delete(q.withClaims, p.info.Pod.UID)
		delete(q.withDevices, p.info.Pod.UID)
	case gated:
		delete(q.withDevices, p.info.Pod.UID)
	case failing, parked:
		q.stopTimerLocked(p)
	}
	p.state = to
	switch to {
	case active:
		q.active.push(p)
	case backingOff:
		q.backoff.push(p)
	case unschedulable:
		q.waiting[p.info.Pod.UID] = p
		if p.byRules || p.byExtenders {
			q.byRules[p.info.Pod.UID] = p
		}
		if len(p.info.Claims) > 0 {
			q.withClaims[p.info.Pod.UID] = p
		}
	}
	if (to == unschedulable || to == gated) && (len(p.info.Pod.Spec.ResourceClaims) > 0 || p.byDevices) {
		q.withDevices[p.info.Pod.UID] = p
	}
	if from.counted() && !to.counted() {
		p.ticket.End()
		p.ticket = nil
	}
}

// countLocked puts the ticket of a pod into the line, or withdraws it.
func (q *Queue) countLocked(p *queuedPod, to state) {
	waited, waits := p.state.waits(), to.waits()
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

func (q *Queue) stopTimerLocked(p *queuedPod) {
	if p.timer != nil && p.timer.Stop() {
		q.timers.Done()
	}
	p.timer = nil
}

func (q *Queue) dropLocked(p *queuedPod) {
	q.moveLocked(p, nowhere)
	delete(q.pods, p.info.Pod.UID)
}

// Close makes Pop return nil, removes all pods that are not popped, and waits for the timers.
func (q *Queue) Close() {
	q.mu.Lock()
	q.closed = true
	q.line.Close()
	for _, p := range q.pods {
		if p.state != deciding && p.state != binding {
			q.dropLocked(p)
		}
	}
	if q.flush != nil && q.flush.Stop() {
		q.timers.Done()
	}
	q.mu.Unlock()
	q.timers.Wait()
}

// IsNew reports whether the pod is not in the queue.
func (q *Queue) IsNew(uid types.UID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pods[uid] == nil
}

// Outrank removes the nomination of a pod, and retries it.
func (q *Queue) Outrank(uid types.UID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.pods[uid]
	if p == nil {
		return
	}
	p.nominated = ""
	p.changed = true
	if p.state == unschedulable {
		q.retryLocked(p)
	}
}
