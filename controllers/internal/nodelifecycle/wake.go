package nodelifecycle

import (
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/nodelifecycle/decide"
	"minikcm.dev/minikcm/internal/heartbeats"
	"minikcm.dev/minikcm/internal/loop"
)

// reference returns the reference to a node in events.
func reference(n *corev1.Node) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: n.Name, UID: n.UID}
}

// wakeForNode records the state of a node, and enqueues the node if the decision may
// change. A heartbeat alone does not enqueue it.
func (c *Controller) wakeForNode(ev loop.Event) []types.NamespacedName {
	node, ok := ev.Object.(*corev1.Node)
	if !ok {
		return nil
	}
	if ev.Type == loop.Deleted {
		c.heartbeats.forget(node.Name)
		c.events.Eventf(reference(node), corev1.EventTypeNormal, "RemovingNode", "Node %s event: Removing Node %v from Controller", node.Name, node.Name)
		return c.follow(func(z *decide.Zones) []string { return z.Remove(node.Name) })
	}
	c.hearNode(node)
	old, _ := ev.Old.(*corev1.Node)
	if old != nil && sameForUs(old, node) {
		return nil
	}
	if ev.Type == loop.Added {
		c.events.Eventf(reference(node), corev1.EventTypeNormal, "RegisteredNode", "Node %s event: Registered Node %v in Controller", node.Name, node.Name)
	}
	c.wakePods(old, node)
	keys := c.follow(func(z *decide.Zones) []string { return z.Observe(node) })
	if self := loop.KeyOf(node); !slices.Contains(keys, self) {
		keys = append(keys, self)
	}
	return keys
}

// follow applies a change to the zones, and returns the affected nodes as keys. When the
// cluster is no longer lost as a whole, it records a heartbeat for all nodes, so that each
// gets a full grace period.
func (c *Controller) follow(change func(*decide.Zones) []string) []types.NamespacedName {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.zones.Lost()
	var keys []types.NamespacedName
	for _, name := range change(c.zones) {
		keys = append(keys, types.NamespacedName{Name: name})
	}
	if was && !c.zones.Lost() {
		c.heartbeats.hearAll(c.clock.Now())
	}
	return keys
}

// hearNode records the state of a node, and the heartbeat in it.
func (c *Controller) hearNode(node *corev1.Node) {
	var late time.Duration
	if ready := decide.ConditionOf(node, corev1.NodeReady); ready != nil {
		late = c.unwritten.Late(heartbeats.Nodes, node.Name, metav1.NewMicroTime(ready.LastHeartbeatTime.Time))
	}
	c.heartbeats.node(node, c.clock.Now(), late)
}

// hearLease records a renewal. The node's timer, when it fires, takes it into account.
func (c *Controller) hearLease(ev loop.Event) []types.NamespacedName {
	lease, ok := ev.Object.(*coordinationv1.Lease)
	if ok && lease.Namespace == corev1.NamespaceNodeLease && ev.Type != loop.Deleted {
		var late time.Duration
		if lease.Spec.RenewTime != nil {
			late = c.unwritten.Late(heartbeats.Leases, lease.Name, *lease.Spec.RenewTime)
		}
		c.heartbeats.lease(lease, c.clock.Now(), late)
	}
	return nil
}

// sameForUs reports whether the nodes differ only in fields that heartbeats change.
func sameForUs(a, b *corev1.Node) bool {
	return a.UID == b.UID && a.Spec.Unschedulable == b.Spec.Unschedulable &&
		maps.Equal(a.Labels, b.Labels) &&
		slices.EqualFunc(a.Spec.Taints, b.Spec.Taints, func(x, y corev1.Taint) bool { return x.MatchTaint(&y) && x.Value == y.Value }) &&
		slices.EqualFunc(a.Status.Conditions, b.Status.Conditions, func(x, y corev1.NodeCondition) bool {
			return x.Type == y.Type && x.Status == y.Status
		})
}
