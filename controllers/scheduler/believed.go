package scheduler

import (
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
)

// believed is what the scheduler believes of the nodes: what the informers told,
// and the pods that it has decided upon and that the informers have not
// confirmed yet (assumed ones).
type believed struct {
	mu    sync.Mutex
	nodes map[string]*cachedNode
	pods  map[types.UID]*cachedPod
	// dirty are the nodes that changed since the last update of the snapshot;
	// restructured is set when nodes came or went, or changed their zone.
	dirty        []*cachedNode
	restructured bool
}

// cachedNode outlives its Node for as long as pods are on it.
type cachedNode struct {
	name  string
	info  *NodeInfo
	dirty bool
}

type cachedPod struct {
	info    *PodInfo
	node    *cachedNode
	assumed bool
}

func newBelieved() *believed {
	return &believed{nodes: map[string]*cachedNode{}, pods: map[types.UID]*cachedPod{}, restructured: true}
}

// setNode takes over a node's new state. It reports whether pods may fit there
// now that did not before.
func (c *believed) setNode(node *corev1.Node) (improved bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodeLocked(node.Name)
	old := n.info.Node
	n.info = n.info.withNode(node)
	c.touchLocked(n)
	if old == nil || zoneOf(old) != zoneOf(node) {
		c.restructured = true
	}
	return old == nil || old.Spec.Unschedulable != node.Spec.Unschedulable ||
		!maps.Equal(old.Labels, node.Labels) ||
		!equality.Semantic.DeepEqual(old.Spec.Taints, node.Spec.Taints) ||
		!equality.Semantic.DeepEqual(old.Status.Allocatable, node.Status.Allocatable)
}

func (c *believed) removeNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[name]
	if n == nil {
		return
	}
	n.info = n.info.withNode(nil)
	c.restructured = true
	c.forgetIfEmptyLocked(n)
}

// assume counts the pod on the node before the API knows of it. It reports false
// if the pod is known to be on a node already.
func (c *believed) assume(p *PodInfo, node string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pods[p.Pod.UID] != nil {
		return false
	}
	c.addLocked(p, node, true)
	return true
}

// forget takes back what assume did, unless the informer has confirmed it.
func (c *believed) forget(uid types.UID) (node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.pods[uid]; p != nil && p.assumed {
		return c.removeLocked(uid)
	}
	return ""
}

// setPod takes over the state of a pod that is on a node. It returns the node on
// which there is more room now than before, if any.
func (c *believed) setPod(pod *corev1.Pod) (improved string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.pods[pod.UID]
	if known == nil {
		c.addLocked(NewPodInfo(pod), pod.Spec.NodeName, false)
		return ""
	}
	known.assumed = false
	if known.node.name == pod.Spec.NodeName && sameRequests(known.info.Pod, pod) {
		if !sameForPreemption(known.info.Pod, pod) {
			info := known.info.withPod(pod)
			known.node.info = known.node.info.replaced(known.info, info)
			known.info = info
			c.touchLocked(known.node)
		}
		return ""
	}
	info := NewPodInfo(pod)
	if known.node.name == pod.Spec.NodeName && !info.Requests.Equal(known.info.Requests) {
		improved = known.node.name
	}
	if left := c.removeLocked(pod.UID); left != pod.Spec.NodeName {
		improved = left
	}
	c.addLocked(info, pod.Spec.NodeName, false)
	return improved
}

// removePod returns the node that the pod was on; "" if it was on none.
func (c *believed) removePod(uid types.UID) (node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pods[uid] == nil {
		return ""
	}
	return c.removeLocked(uid)
}

// has reports whether the pod is, or is assumed to be, on a node.
func (c *believed) has(uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pods[uid] != nil
}

// node returns the node's newest state; nil if there is no such node.
func (c *believed) node(name string) *NodeInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.nodes[name]; n != nil && n.info.Node != nil {
		return n.info
	}
	return nil
}

// update brings the snapshot up to date. It costs as much as has changed since
// the last time; only coming and going nodes make a new one.
func (c *believed) update(s *Snapshot) *Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.dirty {
		n.dirty = false
	}
	dirty := c.dirty
	c.dirty = c.dirty[:0]
	if s != nil && !c.restructured {
		for _, n := range dirty {
			if n.info.Node != nil {
				s.set(n.info)
			}
		}
		return s
	}
	c.restructured = false
	nodes := make([]*NodeInfo, 0, len(c.nodes))
	for _, n := range c.nodes {
		if n.info.Node != nil {
			nodes = append(nodes, n.info)
		}
	}
	slices.SortFunc(nodes, func(a, b *NodeInfo) int { return strings.Compare(a.Name(), b.Name()) })
	return NewSnapshot(nodes)
}

func (c *believed) nodeLocked(name string) *cachedNode {
	n := c.nodes[name]
	if n == nil {
		n = &cachedNode{name: name, info: &NodeInfo{}}
		c.nodes[name] = n
	}
	return n
}

func (c *believed) addLocked(p *PodInfo, node string, assumed bool) {
	n := c.nodeLocked(node)
	n.info = n.info.appended(p)
	c.pods[p.Pod.UID] = &cachedPod{info: p, node: n, assumed: assumed}
	c.touchLocked(n)
}

func (c *believed) removeLocked(uid types.UID) string {
	p := c.pods[uid]
	delete(c.pods, uid)
	p.node.info = p.node.info.Without(p.info)
	c.touchLocked(p.node)
	c.forgetIfEmptyLocked(p.node)
	return p.node.name
}

func (c *believed) forgetIfEmptyLocked(n *cachedNode) {
	if n.info.Node == nil && len(n.info.Pods) == 0 {
		delete(c.nodes, n.name)
	}
}

func (c *believed) touchLocked(n *cachedNode) {
	if !n.dirty {
		n.dirty = true
		c.dirty = append(c.dirty, n)
	}
}

// sameRequests reports whether nothing changed that the node's sums are made of.
// Most updates are a kubelet's reports.
func sameRequests(old, pod *corev1.Pod) bool {
	if old.Generation != pod.Generation || old.Generation == 0 && !equality.Semantic.DeepEqual(old.Spec.Containers, pod.Spec.Containers) {
		return false
	}
	return isPlain(old) && isPlain(pod) || podRequests(old).Equal(podRequests(pod))
}

// sameForPreemption reports whether nothing changed that victims are chosen by.
func sameForPreemption(old, pod *corev1.Pod) bool {
	return old.DeletionTimestamp.Equal(pod.DeletionTimestamp) && old.Status.StartTime.Equal(pod.Status.StartTime) &&
		isVictim(old) == isVictim(pod)
}
