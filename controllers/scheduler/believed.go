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
	// changes are the pods that came and went since then, to be counted; uncounted
	// is set when they are too many to be kept.
	changes   []podChange
	uncounted bool
}

// maxChanges bounds what is remembered of pods that come and go while nothing is
// decided. After more than that it is cheaper to count anew.
const maxChanges = 8192

// change is something that may let waiting pods in.
type change struct {
	// node has more room, or other labels or taints; "": none.
	node string
	// added came to a node, removed left one; nil: none. For other labels, the pod
	// is both.
	added, removed *PodInfo
	// topology is set when a node came or went, or has other labels or taints.
	topology bool
}

func (c change) any() bool { return c.node != "" || c.added != nil || c.removed != nil || c.topology }

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

// setNode takes over a node's new state.
func (c *believed) setNode(node *corev1.Node) change {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodeLocked(node.Name)
	old := n.info.Node
	n.info = n.info.withNode(node)
	c.touchLocked(n)
	if old == nil || zoneOf(old) != zoneOf(node) {
		c.restructured = true
	}
	switch {
	case old == nil || !maps.Equal(old.Labels, node.Labels) || !equality.Semantic.DeepEqual(old.Spec.Taints, node.Spec.Taints):
		return change{node: node.Name, topology: true}
	case old.Spec.Unschedulable != node.Spec.Unschedulable || !equality.Semantic.DeepEqual(old.Status.Allocatable, node.Status.Allocatable):
		return change{node: node.Name}
	}
	return change{}
}

func (c *believed) removeNode(name string) change {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[name]
	if n == nil {
		return change{}
	}
	n.info = n.info.withNode(nil)
	c.restructured = true
	c.forgetIfEmptyLocked(n)
	return change{topology: true}
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
func (c *believed) forget(uid types.UID) change {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.pods[uid]; p != nil && p.assumed {
		return c.removeLocked(uid)
	}
	return change{}
}

// setPod takes over the state of a pod that is on a node.
func (c *believed) setPod(pod *corev1.Pod) change {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.pods[pod.UID]
	if known == nil {
		info := NewPodInfo(pod)
		c.addLocked(info, pod.Spec.NodeName, false)
		return change{added: info}
	}
	known.assumed = false
	if known.node.name == pod.Spec.NodeName && sameRequests(known.info.Pod, pod) {
		return c.replaceLocked(known, pod)
	}
	info, old := NewPodInfo(pod), known.info
	left := c.removeLocked(pod.UID)
	c.addLocked(info, pod.Spec.NodeName, false)
	if left.node == pod.Spec.NodeName && info.Requests.Equal(old.Requests) {
		left.node = ""
	}
	left.added = info
	return left
}

// replaceLocked takes over a pod's new state that takes as much of the node.
func (c *believed) replaceLocked(known *cachedPod, pod *corev1.Pod) change {
	old := known.info
	counted := sameForCounts(old.Pod, pod)
	if counted && sameForPreemption(old.Pod, pod) {
		return change{}
	}
	info := old.withPod(pod)
	known.node.info = known.node.info.replaced(old, info)
	known.info = info
	c.touchLocked(known.node)
	if counted {
		return change{}
	}
	c.changeLocked(known.node, old, -1)
	c.changeLocked(known.node, info, 1)
	return change{added: info, removed: old}
}

// removePod forgets a pod that is on a node no longer.
func (c *believed) removePod(uid types.UID) change {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pods[uid] == nil {
		return change{}
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
	dirty, changes, uncounted := c.dirty, c.changes, c.uncounted || s == nil
	c.dirty, c.changes, c.uncounted = c.dirty[:0], c.changes[:0], false
	defer clear(changes) // so that they hold no pods
	if s != nil && !c.restructured && !uncounted {
		for _, n := range dirty {
			if n.info.Node != nil {
				s.set(n.info)
			}
		}
		s.tally.changeAll(changes)
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
	if uncounted {
		return NewSnapshot(nodes)
	}
	s.tally.changeAll(changes)
	return newSnapshot(nodes, s.tally)
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
	c.changeLocked(n, p, 1)
}

func (c *believed) removeLocked(uid types.UID) change {
	p := c.pods[uid]
	delete(c.pods, uid)
	p.node.info = p.node.info.Without(p.info)
	c.touchLocked(p.node)
	c.changeLocked(p.node, p.info, -1)
	c.forgetIfEmptyLocked(p.node)
	return change{node: p.node.name, removed: p.info}
}

// changeLocked has a pod that came or went counted at the next update.
func (c *believed) changeLocked(n *cachedNode, p *PodInfo, sign int32) {
	switch {
	case c.uncounted:
	case len(c.changes) == maxChanges:
		c.uncounted = true
		clear(c.changes)
		c.changes = c.changes[:0]
	default:
		c.changes = append(c.changes, podChange{n.name, p, sign})
	}
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

// sameForCounts reports whether nothing changed that pods are counted by.
func sameForCounts(old, pod *corev1.Pod) bool {
	return (old.DeletionTimestamp == nil) == (pod.DeletionTimestamp == nil) && maps.Equal(old.Labels, pod.Labels)
}
