package queue

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	utilclock "k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/internal/inflight"
)

// state is the state of a queued pod.
//
//	Set --> active --Pop--> deciding --Decided--> binding --Done--> (removed)
//	          ^               | Reject              |
//	          |               v                     | Fail
//	          +-- event -- unschedulable            v
//	          +-- end of back-off ----------------- failing
//
// A pod whose volumes or devices are not bound yet moves from binding to parked (Park), and back by way of
// active when Resume is called or its time is over.
//
// An event moves a pod whose back-off has not ended to backingOff instead of active.
//
// The pods of a PodGroup have one entry, which moves like a pod without a node, and never to binding. They are
// members of it until they have a node, and from then on move on their own (group.go).
type state int

const (
	// nowhere: not in the queue yet, or not any more.
	nowhere state = iota
	// active: ready to be popped, by priority.
	active
	// backingOff: ready when its back-off ends; popped before that if no pod is active, as in
	// kube-scheduler.
	backingOff
	// failing: waits for the end of its back-off after an error.
	failing
	// unschedulable: waits for an event that the hint approves.
	unschedulable
	// gated: has scheduling gates, or resource claims that do not exist, or is a group that lacks pods.
	gated
	// member: waits in the entry of its group, for a decision on all of them.
	member
	// deciding: popped; the decision is not made yet, or not written.
	deciding
	// binding: popped, has a node, and its binding is being written.
	binding
	// parked: has a node, and waits for its volumes or devices.
	parked
)

// counted reports whether the ledger counts pods in this state: it does unless they wait for time
// or for an event.
func (p state) counted() bool {
	return p == active || p == backingOff || p == deciding || p == binding
}

// waits reports whether pods in this state wait to be popped.
func (p state) waits() bool { return p == active || p == backingOff }

// queuedPod is a pod without a node, or the entry of the pods of a group. The queue's mutex guards all fields.
type queuedPod struct {
	// id is the pod's UID. Of a group, it is the name, with a slash, which UIDs do not have.
	id              types.UID
	namespace, name string
	priority        int32
	// info is nil for a group.
	info *framework.PodInfo
	// group is set in the entry of a group, of in each pod of one: that entry, or nil while the pod is not a
	// member.
	group *group
	of    *queuedPod
	// decisions is how often a pod of a group was decided on.
	decisions int
	// nominated is the node that is being freed for the pod; "": none.
	nominated string

	state state
	index int
	// since is the time at which the pod was added to the queue, or put back.
	since time.Time
	// rejected counts the decisions that found no node, failed the errors in a row.
	rejected, failed int
	// readyAt is the end of the back-off.
	readyAt time.Time
	timer   utilclock.Timer
	// seen is the mark of the in-flight events when the pod was popped.
	seen int
	// ticket counts the pod in the ledger while its state is a counted one. While the pod is
	// active or backing off, the ticket is in the line.
	ticket *inflight.Ticket[*queuedPod]
	// byRules is set if pods on other nodes were a reason against a node in the last decision.
	byRules bool
	// hasNode is set if the pod was parked: it needs no decision when it is popped.
	hasNode bool
	// byVolumes is set if the pod's claims were the reason against all nodes in the last
	// decision.
	byVolumes bool
	// byResources is set if the pod's resources were a reason against a node in the last decision.
	byResources bool
	// byDevices is set if the pod's devices were a reason against a node in the last
	// decision, onlyDevices if they were the reason against all nodes.
	byDevices, onlyDevices bool
	// byExtenders is set if an extender excluded a node in the last decision.
	byExtenders bool
	// deleted and changed are set if that happened to the pod while it was popped.
	deleted bool
	changed bool
}

// Waiting is a pod that the last decision found no node for.
type Waiting struct {
	Info *framework.PodInfo
	// Nominated is the node that is being freed for the pod; "": none.
	Nominated string
	// ByRules is set if pods on other nodes were a reason against a node, ByVolumes if the
	// pod's claims were the reason against all nodes.
	ByRules, ByVolumes bool
	// ByResources is set if the pod's resources were a reason against a node.
	ByResources bool
	// ByDevices is set if the pod's devices were a reason against a node, OnlyDevices if
	// they were the reason against all nodes.
	ByDevices, OnlyDevices bool
	// ByExtenders is set if an extender excluded a node.
	ByExtenders bool
}

// Hint reports whether the event may let the waiting pod in.
type Hint func(p Waiting, c framework.ClusterEvent) bool

func newQueuedPod(pod *corev1.Pod) *queuedPod {
	info := framework.NewPodInfo(pod)
	return &queuedPod{
		id: pod.UID, namespace: pod.Namespace, name: pod.Name, priority: info.Priority,
		info: info, nominated: pod.Status.NominatedNodeName, index: -1,
	}
}

func (p *queuedPod) waiting() Waiting {
	return Waiting{
		Info: p.info, Nominated: p.nominated, ByRules: p.byRules, ByVolumes: p.byVolumes, ByResources: p.byResources,
		ByDevices: p.byDevices, OnlyDevices: p.onlyDevices, ByExtenders: p.byExtenders,
	}
}

// before is PrioritySort: the highest priority first, then the oldest. Pods of the same
// instant are ordered by name, so that the order does not depend on the order of events.
func before(a, b *queuedPod) bool {
	if a.priority != b.priority {
		return a.priority > b.priority
	}
	if !a.since.Equal(b.since) {
		return a.since.Before(b.since)
	}
	return cmp.Or(
		strings.Compare(a.namespace, b.namespace),
		strings.Compare(a.name, b.name),
		strings.Compare(string(a.id), string(b.id)),
	) < 0
}

func readyBefore(a, b *queuedPod) bool {
	if !a.readyAt.Equal(b.readyAt) {
		return a.readyAt.Before(b.readyAt)
	}
	return before(a, b)
}
