package cache

import (
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// Cache is the scheduler's view of nodes and pods: the objects of the informers, plus assumed
// pods, which have a decision that the informers do not show yet. It is safe for concurrent
// use.
//
// Pods a and b both want the last free CPU, on node n:
//
//	the deciding goroutine             an API worker                   the informer's goroutine
//	UpdateSnapshot: n has 1 CPU
//	a -> n; AssumePod(a, n)            POST the binding of a
//	UpdateSnapshot: a is on n
//	b fits on no node: it waits
//	                                                                   a is on n: SetPod(a) confirms it
//	                                   201: the attempt is done
//
// Without AssumePod, the second snapshot would show n with a free CPU, because the informer still shows a
// as pending, and n would be overcommitted. If the request fails, the API worker
// calls ForgetPod(a): n is free, the queue tries b again, and a gets a back-off. If it fails although the API server
// has stored the binding (a time-out), SetPod may come first. Then a is no longer assumed, and ForgetPod leaves it on n.
type Cache struct {
	mu    sync.Mutex
	nodes map[string]*cachedNode
	pods  map[types.UID]*cachedPod
	// dirty are the nodes that changed since the last UpdateSnapshot. restructured is set if
	// nodes were added or deleted, or changed their zone.
	dirty        []*cachedNode
	restructured bool
	// changes are the pods that were added or removed since then. uncounted is set if they
	// were more than maxChanges, and have been dropped.
	changes   []framework.PodChange
	uncounted bool
}

// maxChanges caps the pod changes kept between two updates of the snapshot. With more, it is
// cheaper to count all pods again.
const maxChanges = 8192

// cachedNode exists until its Node is deleted and no pods are on it.
type cachedNode struct {
	name  string
	info  *framework.NodeInfo
	dirty bool
}

type cachedPod struct {
	info    *framework.PodInfo
	node    *cachedNode
	assumed bool
}

// New returns an empty cache.
func New() *Cache {
	return &Cache{nodes: map[string]*cachedNode{}, pods: map[types.UID]*cachedPod{}, restructured: true}
}

// SetNode stores the state of a node.
func (c *Cache) SetNode(node *corev1.Node) framework.ClusterEvent {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodeLocked(node.Name)
	old := n.info.Node
	n.info = n.info.WithNode(node)
	c.touchLocked(n)
	if old == nil || framework.ZoneOf(old) != framework.ZoneOf(node) {
		c.restructured = true
	}
	offers := old == nil || !equality.Semantic.DeepEqual(old.Status.Allocatable, node.Status.Allocatable)
	switch {
	case old == nil || !maps.Equal(old.Labels, node.Labels) || !equality.Semantic.DeepEqual(old.Spec.Taints, node.Spec.Taints):
		return framework.ClusterEvent{Node: node.Name, Topology: true, Offers: offers}
	case old.Spec.Unschedulable != node.Spec.Unschedulable, offers, !slices.Equal(old.Status.DeclaredFeatures, node.Status.DeclaredFeatures):
		return framework.ClusterEvent{Node: node.Name, Offers: offers}
	}
	return framework.ClusterEvent{}
}

// RemoveNode removes a deleted node. Its pods stay until they are removed themselves.
func (c *Cache) RemoveNode(name string) framework.ClusterEvent {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[name]
	if n == nil {
		return framework.ClusterEvent{}
	}
	n.info = n.info.WithNode(nil)
	c.restructured = true
	c.forgetIfEmptyLocked(n)
	return framework.ClusterEvent{Topology: true}
}

// AssumePod adds the pod to the node before the binding is written. It returns false if the
// pod is on a node already.
func (c *Cache) AssumePod(p *framework.PodInfo, node string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pods[p.Pod.UID] != nil {
		return false
	}
	c.addLocked(p, node, true)
	return true
}

// ForgetPod removes an assumed pod, unless SetPod has confirmed it meanwhile.
func (c *Cache) ForgetPod(uid types.UID) framework.ClusterEvent {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.pods[uid]; p != nil && p.assumed {
		return c.removeLocked(uid)
	}
	return framework.ClusterEvent{}
}

// SetPod stores the state of a pod that is bound to a node.
func (c *Cache) SetPod(pod *corev1.Pod) framework.ClusterEvent {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.pods[pod.UID]
	if known == nil {
		info := framework.NewPodInfo(pod)
		c.addLocked(info, pod.Spec.NodeName, false)
		return framework.ClusterEvent{Added: info}
	}
	known.assumed = false
	if known.node.name == pod.Spec.NodeName && framework.SameRequests(known.info.Pod, pod) {
		return c.replaceLocked(known, pod)
	}
	info, old := framework.NewPodInfo(pod), known.info
	left := c.removeLocked(pod.UID)
	c.addLocked(info, pod.Spec.NodeName, false)
	if left.Node == pod.Spec.NodeName && info.Requests.Equal(old.Requests) {
		left.Node = ""
	}
	left.Added = info
	return left
}

// replaceLocked stores a new state of a pod whose node and requests are the same.
func (c *Cache) replaceLocked(known *cachedPod, pod *corev1.Pod) framework.ClusterEvent {
	old := known.info
	counted := sameForCounts(old.Pod, pod)
	if counted && sameForPreemption(old.Pod, pod) {
		return framework.ClusterEvent{}
	}
	info := old.WithPod(pod)
	known.node.info = known.node.info.Replace(old, info)
	known.info = info
	c.touchLocked(known.node)
	if counted {
		return framework.ClusterEvent{}
	}
	c.changeLocked(known.node, old, -1)
	c.changeLocked(known.node, info, 1)
	return framework.ClusterEvent{Added: info, Removed: old}
}

// RemovePod removes a pod that is deleted or has ended.
func (c *Cache) RemovePod(uid types.UID) framework.ClusterEvent {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pods[uid] == nil {
		return framework.ClusterEvent{}
	}
	return c.removeLocked(uid)
}

// HasPod reports whether the pod is on a node, confirmed or assumed.
func (c *Cache) HasPod(uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pods[uid] != nil
}

// Node returns the current state of a node; nil if it does not exist.
func (c *Cache) Node(name string) *framework.NodeInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.nodes[name]; n != nil && n.info.Node != nil {
		return n.info
	}
	return nil
}

// UpdateSnapshot returns s brought up to date; nil means an empty one. Its cost depends on the
// number of changes since the last call. It makes a new snapshot only if nodes were added or
// deleted, or changed their zone; s must not be used afterwards.
func (c *Cache) UpdateSnapshot(s *framework.Snapshot) *framework.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.dirty {
		n.dirty = false
	}
	dirty, changes, uncounted := c.dirty, c.changes, c.uncounted || s == nil
	c.dirty, c.changes, c.uncounted = c.dirty[:0], c.changes[:0], false
	defer clear(changes) // release the pods
	if s != nil && !c.restructured && !uncounted {
		for _, n := range dirty {
			if n.info.Node != nil {
				s.Set(n.info)
			}
		}
		s.Count(changes)
		return s
	}
	c.restructured = false
	nodes := make([]*framework.NodeInfo, 0, len(c.nodes))
	for _, n := range c.nodes {
		if n.info.Node != nil {
			nodes = append(nodes, n.info)
		}
	}
	slices.SortFunc(nodes, func(a, b *framework.NodeInfo) int { return strings.Compare(a.Name(), b.Name()) })
	if uncounted {
		return framework.NewSnapshot(nodes)
	}
	s.Count(changes)
	return s.WithNodes(nodes)
}

func (c *Cache) nodeLocked(name string) *cachedNode {
	n := c.nodes[name]
	if n == nil {
		n = &cachedNode{name: name, info: &framework.NodeInfo{}}
		c.nodes[name] = n
	}
	return n
}

func (c *Cache) addLocked(p *framework.PodInfo, node string, assumed bool) {
	n := c.nodeLocked(node)
	n.info = n.info.Append(p)
	c.pods[p.Pod.UID] = &cachedPod{info: p, node: n, assumed: assumed}
	c.touchLocked(n)
	c.changeLocked(n, p, 1)
}

func (c *Cache) removeLocked(uid types.UID) framework.ClusterEvent {
	p := c.pods[uid]
	delete(c.pods, uid)
	p.node.info = p.node.info.Without(p.info)
	c.touchLocked(p.node)
	c.changeLocked(p.node, p.info, -1)
	c.forgetIfEmptyLocked(p.node)
	return framework.ClusterEvent{Node: p.node.name, Removed: p.info}
}

// changeLocked records a pod that was added or removed for the next UpdateSnapshot.
func (c *Cache) changeLocked(n *cachedNode, p *framework.PodInfo, sign int32) {
	switch {
	case c.uncounted:
	case len(c.changes) == maxChanges:
		c.uncounted = true
		clear(c.changes)
		c.changes = c.changes[:0]
	default:
		c.changes = append(c.changes, framework.PodChange{Node: n.name, Pod: p, Sign: sign})
	}
}

func (c *Cache) forgetIfEmptyLocked(n *cachedNode) {
	if n.info.Node == nil && len(n.info.Pods) == 0 {
		delete(c.nodes, n.name)
	}
}

func (c *Cache) touchLocked(n *cachedNode) {
	if !n.dirty {
		n.dirty = true
		c.dirty = append(c.dirty, n)
	}
}

// sameForPreemption reports whether both states of a pod are equal in the fields that victims
// are chosen by.
func sameForPreemption(old, pod *corev1.Pod) bool {
	return old.DeletionTimestamp.Equal(pod.DeletionTimestamp) && old.Status.StartTime.Equal(pod.Status.StartTime) &&
		framework.IsPreemptionVictim(old) == framework.IsPreemptionVictim(pod)
}

// sameForCounts reports whether both states of a pod are equal in the fields that pods are
// counted by.
func sameForCounts(old, pod *corev1.Pod) bool {
	return (old.DeletionTimestamp == nil) == (pod.DeletionTimestamp == nil) && maps.Equal(old.Labels, pod.Labels)
}
