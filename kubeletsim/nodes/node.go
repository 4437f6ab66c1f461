package nodes

import (
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/events"
	"minikcm.dev/minikcm/kubeletsim/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/podspec"
)

// Node is one simulated machine.
type Node struct {
	Name     string
	spec     Spec
	Address  string
	PodRange netip.Prefix
	// Allocatable is the spec's, with the defaults.
	Allocatable corev1.ResourceList
	// Managed says that a client made the Node: with the Node, the machine is gone for good.
	Managed bool
	// stated are the addresses and the system info that the Node came with.
	stated statement

	mu        sync.Mutex
	addresses *addressPool
	// stopped is whether nothing is heard of the machine; lost whether its Node was
	// deleted; settling whether it is still to take over pods that are bound to it.
	stopped, lost, settling bool
	// restarted is whether the kubelet has been started anew and has not registered
	// since; resumed whether it is within reach again and has not said so.
	restarted, resumed bool
	// crashed is whether the machine is down, not only out of reach; boots counts how
	// often it came up again; rebooted is whether that is still to be reported.
	crashed  bool
	boots    int
	rebooted bool
	// troubled is what its kubelet complains of; changed whether that is news.
	troubled map[corev1.NodeConditionType]bool
	changed  bool
	faults
	// admitted are the requests of the pods that it has taken and that have not ended;
	// load is their sum.
	admitted map[types.UID]corev1.ResourceList
	// hostPorts are the ports that they have for themselves.
	hostPorts map[types.UID][]hostPort
	load      lifecycle.Allocated
	// waitingForResources are the pods that ask for more than the node has left.
	waitingForResources map[types.UID]bool

	uid        types.UID
	images     map[string]bool
	imageOrder []string
	reporter   *events.Recorder

	Heartbeat
}

// Heartbeat is the state of a node's registration and heartbeats. No lock guards it: only
// the worker that holds the node's key uses it.
type Heartbeat struct {
	Registered bool
	// StatusDue is when the status is compared with the Node, fullDue when it is written
	// even if nothing has changed, and leaseDue when the lease is renewed.
	StatusDue, FullDue, LeaseDue time.Time
	// Written is the Node as the last write of its status left it, which the informer
	// may not have delivered yet.
	Written *corev1.Node
	Lease   *coordinationv1.Lease
	// Random spreads this node's renewals; nil before the first.
	Random *clock.Random
	// Failures counts the attempts to reach the API that failed in a row.
	Failures int
}

func newNode(spec Spec, address string, cidr netip.Prefix) *Node {
	return &Node{
		Name: spec.Name, spec: spec, Address: address, PodRange: cidr,
		addresses:   newAddressPool(cidr),
		images:      map[string]bool{},
		admitted:    map[types.UID]corev1.ResourceList{},
		Allocatable: spec.allocatable(),
	}
}

// Reachable is whether the node's kubelet can be heard of.
func (n *Node) Reachable() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.stopped && !n.lost
}

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

// Troubled is what the node's kubelet complains of.
func (n *Node) Troubled() map[corev1.NodeConditionType]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.troubled)
}

// TakeChanged is whether trouble came or went since it was last asked.
func (n *Node) TakeChanged() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.changed
	n.changed = false
	return was
}

// Admit admits a pod or says why not; unconditionally one that it has had before.
func (n *Node) Admit(pod *corev1.Pod, object *corev1.Node, unconditionally bool) lifecycle.Rejection {
	requests := lifecycle.Requests(pod)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.admitted[pod.UID] != nil {
		return lifecycle.Rejection{}
	}
	if !unconditionally {
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

// hasPort is whether a pod has a port already. It is called with the lock held.
func (n *Node) hasPort(port hostPort) bool {
	for _, taken := range n.hostPorts {
		if slices.ContainsFunc(taken, port.conflicts) {
			return true
		}
	}
	return false
}

// Release forgets a pod that has ended.
func (n *Node) Release(pod types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.hostPorts, pod)
	delete(n.waitingForResources, pod)
	if requests, ok := n.admitted[pod]; ok {
		n.load.Remove(requests)
		delete(n.admitted, pod)
	}
}

// Resize reserves for a pod what it asks for by now, or says why that cannot be: then it
// waits until somebody gives something back.
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

// WaitingForResources are the pods that ask for more than the node had left.
func (n *Node) WaitingForResources() []types.UID {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Keys(n.waitingForResources))
}

func (n *Node) TakeAddress() netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.addresses.take()
}

func (n *Node) ReleaseAddress(a netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addresses.release(a)
}

// Readmit admits a pod that the node has had before, with the address that it has.
func (n *Node) Readmit(pod *corev1.Pod, address netip.Addr) {
	n.Admit(pod, nil, true)
	n.mu.Lock()
	defer n.mu.Unlock()
	if address.IsValid() {
		n.addresses.reserve(address)
	}
}

func (n *Node) HasImage(image string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.images[podspec.ImageName(image)]
}

func (n *Node) AddImages(images []string) {
	if len(images) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, image := range images {
		if name := podspec.ImageName(image); !n.images[name] {
			n.images[name] = true
			n.imageOrder = append(n.imageOrder, name)
		}
	}
}

// seeImages takes note of images that an earlier run's node had.
func (n *Node) seeImages(images []corev1.ContainerImage) {
	for _, image := range slices.Backward(images) {
		if len(image.Names) > 0 {
			n.AddImages(image.Names[len(image.Names)-1:])
		}
	}
}

// maxImages is how many images a node reports, as upstream's kubelet does.
const maxImages = 50

// imageList is what the node's status says of its images, the newest first.
func (n *Node) imageList() []corev1.ContainerImage {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []corev1.ContainerImage
	for _, name := range slices.Backward(n.imageOrder) {
		if len(list) == maxImages {
			break
		}
		names := []string{podspec.ImageID(name)}
		if names[0] != name {
			names = append(names, name)
		}
		list = append(list, corev1.ContainerImage{Names: names})
	}
	return list
}

// Recorder is the one that reports with this node as its source.
func (n *Node) Recorder(shared *events.Recorder, component string) *events.Recorder {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.reporter == nil {
		n.reporter = shared.WithSource(corev1.EventSource{Component: component, Host: n.Name})
	}
	return n.reporter
}
