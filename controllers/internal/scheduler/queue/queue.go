package queue

import (
	"cmp"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	utilclock "k8s.io/utils/clock"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/internal/inflight"
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
	// podGroups is nil if pods are decided on without regard to their groups.
	podGroups Groups
	// initial and longest limit the back-offs.
	initial, longest time.Duration

	mu      sync.Mutex
	closed  bool
	pods    map[types.UID]*queuedPod
	groups  map[types.NamespacedName]*queuedPod // the entries of groups
	active  *podHeap
	backoff *podHeap
	waiting map[types.UID]*queuedPod // the unschedulable pods
	byRules map[types.UID]*queuedPod // those among them
	// withClaims are the unschedulable pods that use claims.
	withClaims map[types.UID]*queuedPod
	// withDevices are the unschedulable and gated pods that use resource claims or were rejected because of
	// devices.
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
	// Groups looks up the PodGroups of pods; nil: pods are decided on without regard to them.
	Groups Groups
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
		podGroups:   opts.Groups,
		groups:      map[types.NamespacedName]*queuedPod{},
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
// claims that do not exist. A group must not if it lacks pods, or one of them must not.
func (q *Queue) gatedLocked(p *queuedPod) bool {
	if p.group != nil {
		return !q.podGroups.Ready(p.group.key) || slices.ContainsFunc(p.group.members, q.gatedLocked)
	}
	pod := p.info.Pod
	return len(pod.Spec.SchedulingGates) > 0 || len(pod.Spec.ResourceClaims) > 0 && !q.ready(p.info)
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
		known = newQueuedPod(pod)
		q.pods[pod.UID] = known
		if q.hasGroup(pod) {
			q.joinLocked(known)
		} else {
			q.enterLocked(known)
		}
		return
	}
	same := sameSpec(known.info.Pod, pod)
	if same {
		known.info = known.info.WithPod(pod)
	} else {
		known.info = framework.NewPodInfo(pod) // a pod's priority cannot change, so it keeps its position in a heap
	}
	entry := known
	if known.state == member {
		entry = known.of
	}
	switch entry.state {
	case deciding, binding:
		entry.changed = entry.changed || !same
	case gated: // its status may name its claims now
		if !q.gatedLocked(entry) {
			q.retryLocked(entry)
		}
	case unschedulable:
		if !same && !q.gatedLocked(entry) {
			q.retryLocked(entry)
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
	case q.gatedLocked(p):
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
	q.placeLocked(p)
}

// placeLocked makes the pod ready to be popped, unless it must not be.
func (q *Queue) placeLocked(p *queuedPod) {
	if q.gatedLocked(p) {
		q.moveLocked(p, gated)
		return
	}
	q.retryLocked(p)
}

// retryLocked makes the pod ready to be popped, at once or when its back-off ends. Unlike a pod, a group is not
// popped before that.
func (q *Queue) retryLocked(p *queuedPod) {
	wait := p.readyAt.Sub(q.clock.Now())
	switch {
	case p.group == nil && wait > 0:
		q.moveLocked(p, backingOff)
	case wait > 0:
		q.failLocked(p, wait)
	default:
		if p.group != nil {
			p.priority = q.podGroups.Priority(p.group.key)
		}
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
		delete(q.waiting, p.id)
		delete(q.byRules, p.id)
		delete(q.withClaims, p.id)
		delete(q.withDevices, p.id)
	case gated:
		delete(q.withDevices, p.id)
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
		q.waiting[p.id] = p
		if p.any(func(p *queuedPod) bool { return p.byRules || p.byExtenders }) {
			q.byRules[p.id] = p
		}
		if p.any(func(p *queuedPod) bool { return len(p.info.Claims) > 0 }) {
			q.withClaims[p.id] = p
		}
	}
	if (to == unschedulable || to == gated) && p.any(func(p *queuedPod) bool { return len(p.info.Pod.Spec.ResourceClaims) > 0 || p.byDevices }) {
		q.withDevices[p.id] = p
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
		p.ticket = q.line.Join(string(p.id), p)
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
	if p.state == member {
		q.leaveLocked(p)
	}
	q.moveLocked(p, nowhere)
	if p.group != nil {
		delete(q.groups, p.group.key)
	} else {
		delete(q.pods, p.id)
	}
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
	if p.state == member {
		p = p.of
	}
	p.changed = true
	if p.state == unschedulable {
		q.retryLocked(p)
	}
}
