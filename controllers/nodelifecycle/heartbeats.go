package nodelifecycle

import (
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// heartbeat is what was heard of one node, by this process's clock.
type heartbeat struct {
	// heard is when it was last heard of.
	heard time.Time
	// since is when its Ready condition was first seen to have its status.
	since  time.Time
	status corev1.ConditionStatus
	// posted and renewed are what was seen last, so that news is told from repetition.
	posted  metav1.Time
	renewed metav1.MicroTime
}

// heartbeats are those of all nodes. It is safe for concurrent use.
type heartbeats struct {
	mu     sync.Mutex
	byNode map[string]*heartbeat
}

func newHeartbeats() *heartbeats { return &heartbeats{byNode: map[string]*heartbeat{}} }

// node takes in a node as it is now. One that is new is heard of by that.
func (h *heartbeats) node(n *corev1.Node, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ready := condition(n, corev1.NodeReady)
	var status corev1.ConditionStatus
	var posted metav1.Time
	if ready != nil {
		status, posted = ready.Status, ready.LastHeartbeatTime
	}
	b := h.byNode[n.Name]
	if b == nil {
		b = &heartbeat{heard: now, since: now, status: status, posted: posted}
		if ready == nil {
			b.heard = n.CreationTimestamp.Time
		}
		h.byNode[n.Name] = b
		return
	}
	if status != b.status {
		b.since, b.status = now, status
	}
	if !posted.Equal(&b.posted) {
		b.heard, b.posted = now, posted
	}
}

// lease takes in a lease of a node. A lease of a node that is not known is nothing.
func (h *heartbeats) lease(l *coordinationv1.Lease, now time.Time) {
	if l.Spec.RenewTime == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.byNode[l.Name]
	if b != nil && b.renewed.Before(l.Spec.RenewTime) {
		b.heard, b.renewed = now, *l.Spec.RenewTime
	}
}

func (h *heartbeats) forget(node string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.byNode, node)
}

// hearAll takes all nodes as heard of now.
func (h *heartbeats) hearAll(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.byNode {
		b.heard, b.since = now, now
	}
}

func (h *heartbeats) get(node string) (heartbeat, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.byNode[node]
	if b == nil {
		return heartbeat{}, false
	}
	return *b, true
}

// condition returns the node's condition of a type, or nil.
func condition(n *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range n.Status.Conditions {
		if n.Status.Conditions[i].Type == kind {
			return &n.Status.Conditions[i]
		}
	}
	return nil
}

// isReady reports whether the node says of itself, or others of it, that it is ready.
func isReady(n *corev1.Node) bool {
	ready := condition(n, corev1.NodeReady)
	return ready != nil && ready.Status == corev1.ConditionTrue
}
