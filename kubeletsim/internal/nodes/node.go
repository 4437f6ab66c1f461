package nodes

import (
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/events"
	"minikcm.dev/minikcm/kubeletsim/internal/eviction"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

// Node is one simulated machine.
type Node struct {
	Name    string
	spec    Spec
	Address string
	// Allocatable is the spec's, with defaults.
	Allocatable corev1.ResourceList
	// Managed means that a client created the Node. Deleting the Node then ends the machine for
	// good.
	Managed bool
	// families are the IP families of the node's own addresses, and hostIPs the addresses that its pods report. block
	// is the IPv4 range of pod addresses that the table holds for the node.
	families Families
	hostIPs  []string
	block    netip.Prefix
	// stated is the statement of the Node when it was adopted.
	stated statement

	mu sync.Mutex
	// ranges are the node's ranges of pod addresses. addresses is the pool of the first one.
	ranges    []netip.Prefix
	addresses *addressPool
	// networkAt is when the network of the machine will be ready; zero if it is.
	networkAt time.Time
	// stopped means that the machine is out of reach, lost that its Node was deleted, and
	// settling that it has not taken over the pods bound to its name yet.
	stopped, lost, settling bool
	// unlinked means that a fault of the network cuts it off from the API server, and from nothing else.
	unlinked bool
	// restarted means that the kubelet has restarted and not registered since; resumed that it
	// is in reach again and has not reported since.
	restarted, resumed bool
	// crashed means that the machine is down. boots counts its restarts, and rebooted means
	// that the last one has not been reported.
	crashed  bool
	boots    int
	rebooted bool
	// troubled are the conditions that are bad; changed means that they or volumes have changed
	// since the last report.
	troubled map[corev1.NodeConditionType]bool
	changed  bool
	// notReady is the text of the condition Ready while it is bad; empty: the text for a failed runtime.
	notReady conditionText
	faults
	machine
	// admitted are the requests of the admitted pods that have not ended; load is their sum.
	admitted map[types.UID]corev1.ResourceList
	// hostPorts are the host ports of these pods.
	hostPorts map[types.UID][]hostPort
	load      lifecycle.Allocated
	volumes   volumesInUse
	// waitingForResources are the pods whose resize does not fit.
	waitingForResources map[types.UID]bool

	uid      types.UID
	images   imageStore
	reporter *events.Recorder

	pressure pressure
	started  atomic.Int64

	Heartbeat
	Renewal Renewal
	Shortage
}

// Heartbeat is the state of a node's registration and of the updates of its status. Only the worker that
// holds the node's key uses it; while Elided.On is set, also others that hold the lock of Elided.
type Heartbeat struct {
	// Registered is also read by the worker that renews the lease.
	Registered atomic.Bool
	// StatusDue is when the status is compared with the Node, and FullDue when it is written
	// even if nothing has changed.
	StatusDue, FullDue time.Time
	// Written is the Node as the last write of its status left it, which the informer
	// may not have delivered yet.
	Written *corev1.Node
	// Elided says whether reports in which only times change are written.
	Elided Elided
}

// Renewal is the state of the renewals of a node's lease. Only the worker that holds the key of the lease
// uses it; while Elided.On is set, also others that hold the lock of Elided.
type Renewal struct {
	// Due is when the lease is renewed; zero: at once.
	Due time.Time
	// Lease is the lease as the last request returned it; nil: it is not known.
	Lease *coordinationv1.Lease
	// Newest is the latest time of a renewal that the lease has had. Renewals that are older, since a
	// clock was set back, are not heard.
	Newest time.Time
	// Random spreads the renewals; nil before the first.
	Random *clock.Random
	// Failures counts the attempts to create or read the lease that failed in a row.
	Failures int
	// Elided says whether renewals are written.
	Elided  Elided
	hurried atomic.Bool
}

// Hurry makes the next renewal due at once. It may be called without the key of the lease.
func (r *Renewal) Hurry() { r.hurried.Store(true) }

// TakeHurry reports whether Hurry was called since the last call.
func (r *Renewal) TakeHurry() bool { return r.hurried.Swap(false) }

// newNode returns a node with the given ranges of pod addresses, or one that awaits them.
func newNode(spec Spec, address string, ranges ...netip.Prefix) *Node {
	n := &Node{
		Name: spec.Name, spec: spec, Address: address,
		admitted:    map[types.UID]corev1.ResourceList{},
		Allocatable: spec.allocatable(),
	}
	n.setRangesLocked(ranges)
	n.AddImages(spec.Images, time.Time{})
	return n
}

// AddStarted adds to the containers that the node's kubelet has started.
func (n *Node) AddStarted(containers int) { n.started.Add(int64(containers)) }

// Started counts the containers that the node's kubelet has started since the process began.
func (n *Node) Started() int64 { return n.started.Load() }

// Reachable reports whether the node's kubelet reaches the API and can be reached.
func (n *Node) Reachable() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.unlinked && n.connectedLocked()
}

// Connected reports whether the node's pods reach other nodes.
func (n *Node) Connected() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.connectedLocked()
}

func (n *Node) connectedLocked() bool { return !n.stopped && !n.off && !n.lost }

func (n *Node) SetUID(uid types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.uid = uid
}

func (n *Node) bootCount() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.boots
}

// Troubled returns the conditions that are bad.
func (n *Node) Troubled() map[corev1.NodeConditionType]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.pressure.conditions) == 0 {
		return maps.Clone(n.troubled)
	}
	bad := map[corev1.NodeConditionType]bool{}
	maps.Copy(bad, n.troubled)
	for _, c := range n.pressure.conditions {
		bad[c] = true
	}
	return bad
}

// TakeChanged reports whether the conditions or the volumes in use have changed since the last
// call.
func (n *Node) TakeChanged() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.changed
	n.changed = false
	return was
}

// Admit admits a pod or returns why not. With unconditionally, it admits the pod in any case,
// for a pod that the node had before.
func (n *Node) Admit(pod *corev1.Pod, object *corev1.Node, unconditionally bool) lifecycle.Rejection {
	requests := lifecycle.Requests(pod)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.admitted[pod.UID] != nil {
		return lifecycle.Rejection{}
	}
	if !unconditionally {
		if why := eviction.Refusal(n.pressure.conditions, pod); why != "" {
			return lifecycle.Rejection{Reason: eviction.Reason, Message: why}
		}
		if why := lifecycle.Admit(pod, object, n.Allocatable, n.load); why.Reason != "" {
			return why
		}
	}
	ports := hostPortsOf(pod)
	for _, port := range ports {
		if !unconditionally && n.hasPort(port) {
			return lifecycle.Rejection{Reason: "NodePorts", Message: "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"}
		}
	}
	if len(ports) > 0 {
		if n.hostPorts == nil {
			n.hostPorts = map[types.UID][]hostPort{}
		}
		n.hostPorts[pod.UID] = ports
	}
	n.admitted[pod.UID] = requests
	n.load.Add(requests)
	return lifecycle.Rejection{}
}

// hasPort reports whether a pod has the port. It requires the lock.
func (n *Node) hasPort(port hostPort) bool {
	for _, taken := range n.hostPorts {
		if slices.ContainsFunc(taken, port.conflicts) {
			return true
		}
	}
	return false
}

// Release returns the resources of a pod that has ended.
func (n *Node) Release(pod types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.hostPorts, pod)
	delete(n.waitingForResources, pod)
	delete(n.pressure.demanding, pod)
	delete(n.pressure.storing, pod)
	if requests, ok := n.admitted[pod]; ok {
		n.load.Remove(requests)
		delete(n.admitted, pod)
	}
}

// Resize reserves the resources that a pod's spec now requests, or returns why they do not fit.
// In that case the pod is among WaitingForResources until it fits.
func (n *Node) Resize(pod *corev1.Pod, object *corev1.Node) lifecycle.Rejection {
	requests := lifecycle.Requests(pod)
	n.mu.Lock()
	defer n.mu.Unlock()
	before, ok := n.admitted[pod.UID]
	if !ok {
		return lifecycle.Rejection{}
	}
	n.load.Remove(before)
	if why := lifecycle.Admit(pod, object, n.Allocatable, n.load); why.Reason != "" {
		n.load.Add(before)
		if n.waitingForResources == nil {
			n.waitingForResources = map[types.UID]bool{}
		}
		n.waitingForResources[pod.UID] = true
		return why
	}
	n.load.Add(requests)
	n.admitted[pod.UID] = requests
	delete(n.waitingForResources, pod.UID)
	return lifecycle.Rejection{}
}

// WaitingForResources returns the pods whose resize did not fit.
func (n *Node) WaitingForResources() []types.UID {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Keys(n.waitingForResources))
}

// TakeAddress takes a free address of the node's range for a pod, and with it the one in the
// second range, if there is one. The first is not valid if no address is left.
func (n *Node) TakeAddress() (first, second netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.addresses == nil || !n.networkAt.IsZero() {
		return netip.Addr{}, netip.Addr{}
	}
	first = n.addresses.take()
	return first, n.secondAddress(first)
}

// ReleaseAddress returns a pod's first address to the node's range.
func (n *Node) ReleaseAddress(a netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.addresses != nil {
		n.addresses.release(a)
	}
}

// Readmit admits a pod that the node had before, with its address.
func (n *Node) Readmit(pod *corev1.Pod, address netip.Addr) {
	n.Admit(pod, nil, true)
	n.mu.Lock()
	defer n.mu.Unlock()
	if address.IsValid() && n.addresses != nil {
		n.addresses.reserve(address)
	}
}

// Recorder returns the event recorder with this node as its source.
func (n *Node) Recorder(shared *events.Recorder, component string) *events.Recorder {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.reporter == nil {
		n.reporter = shared.WithSource(corev1.EventSource{Component: component, Host: n.Name})
	}
	return n.reporter
}
