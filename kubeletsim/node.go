package kubeletsim

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

// node is one simulated machine.
type node struct {
	name    string
	spec    NodeSpec
	address string
	cidr    netip.Prefix
	// allocatable is the spec's, with the defaults.
	allocatable corev1.ResourceList
	// managed says that a client made the Node: with the Node, the machine is gone for good.
	managed bool
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
	// trouble is what its kubelet complains of; changed whether that is news.
	trouble map[corev1.NodeConditionType]bool
	changed bool
	suffering
	// admitted are the requests of the pods that it has taken and that have not ended;
	// load is their sum.
	admitted map[types.UID]corev1.ResourceList
	// hostPorts are the ports that they have for themselves.
	hostPorts map[types.UID][]hostPort
	load      lifecycle.Allocated
	// waiting are the pods that ask for more than the node has left.
	waiting map[types.UID]bool

	uid        types.UID
	images     map[string]bool
	imageOrder []string
	reporter   *events.Recorder

	heartbeat
}

// heartbeat is the state of a node's registration and heartbeats. No lock guards it: only
// the worker that holds the node's key uses it.
type heartbeat struct {
	registered bool
	// statusDue is when the status is compared with the Node, fullDue when it is written
	// even if nothing has changed, and leaseDue when the lease is renewed.
	statusDue, fullDue, leaseDue time.Time
	// written is the Node as the last write of its status left it, which the informer
	// may not have delivered yet.
	written *corev1.Node
	lease   *coordinationv1.Lease
	// random spreads this node's renewals; nil before the first.
	random *clock.Random
	// failures counts the attempts to reach the API that failed in a row.
	failures int
}

func newNode(spec NodeSpec, address string, cidr netip.Prefix) *node {
	return &node{
		name: spec.Name, spec: spec, address: address, cidr: cidr,
		addresses:   newAddressPool(cidr),
		images:      map[string]bool{},
		admitted:    map[types.UID]corev1.ResourceList{},
		allocatable: spec.allocatable(),
	}
}

// reachable is whether the node's kubelet can be heard of.
func (n *node) reachable() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.stopped && !n.lost
}

func (n *node) setUID(uid types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.uid = uid
}

func (n *node) bootCount() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.boots
}

// troubles is what the node's kubelet complains of.
func (n *node) troubles() map[corev1.NodeConditionType]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.trouble)
}

// takeChanged is whether trouble came or went since it was last asked.
func (n *node) takeChanged() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.changed
	n.changed = false
	return was
}

// take admits a pod or says why not; unconditionally one that it has had before.
func (n *node) take(pod *corev1.Pod, object *corev1.Node, unconditionally bool) lifecycle.Rejection {
	requests := lifecycle.Requests(pod)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.admitted[pod.UID] != nil {
		return lifecycle.Rejection{}
	}
	if !unconditionally {
		if why := lifecycle.Admit(pod, object, n.allocatable, n.load); why.Reason != "" {
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
func (n *node) hasPort(port hostPort) bool {
	for _, taken := range n.hostPorts {
		if slices.ContainsFunc(taken, port.conflicts) {
			return true
		}
	}
	return false
}

// release forgets a pod that has ended.
func (n *node) release(pod types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.hostPorts, pod)
	delete(n.waiting, pod)
	if requests, ok := n.admitted[pod]; ok {
		n.load.Remove(requests)
		delete(n.admitted, pod)
	}
}

// resize reserves for a pod what it asks for by now, or says why that cannot be: then it
// waits until somebody gives something back.
func (n *node) resize(pod *corev1.Pod, object *corev1.Node) lifecycle.Rejection {
	requests := lifecycle.Requests(pod)
	n.mu.Lock()
	defer n.mu.Unlock()
	before, ok := n.admitted[pod.UID]
	if !ok {
		return lifecycle.Rejection{}
	}
	n.load.Remove(before)
	if why := lifecycle.Admit(pod, object, n.allocatable, n.load); why.Reason != "" {
		n.load.Add(before)
		if n.waiting == nil {
			n.waiting = map[types.UID]bool{}
		}
		n.waiting[pod.UID] = true
		return why
	}
	n.load.Add(requests)
	n.admitted[pod.UID] = requests
	delete(n.waiting, pod.UID)
	return lifecycle.Rejection{}
}

// waiters are the pods that ask for more than the node had left.
func (n *node) waiters() []types.UID {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Keys(n.waiting))
}

func (n *node) lend() netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.addresses.take()
}

func (n *node) giveBack(a netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addresses.release(a)
}

// takeBack admits a pod that the node has had before, with the address that it has.
func (n *node) takeBack(pod *corev1.Pod, address netip.Addr) {
	n.take(pod, nil, true)
	n.mu.Lock()
	defer n.mu.Unlock()
	if address.IsValid() {
		n.addresses.reserve(address)
	}
}

func (n *node) hasImage(image string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.images[podspec.ImageName(image)]
}

func (n *node) addImages(images []string) {
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
func (n *node) seeImages(images []corev1.ContainerImage) {
	for _, image := range slices.Backward(images) {
		if len(image.Names) > 0 {
			n.addImages(image.Names[len(image.Names)-1:])
		}
	}
}

// maxImages is how many images a node reports, as upstream's kubelet does.
const maxImages = 50

// imageList is what the node's status says of its images, the newest first.
func (n *node) imageList() []corev1.ContainerImage {
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

// recorder is the one that reports with this node as its source.
func (n *node) recorder(shared *events.Recorder, component string) *events.Recorder {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.reporter == nil {
		n.reporter = shared.WithSource(corev1.EventSource{Component: component, Host: n.name})
	}
	return n.reporter
}
