package nodelifecycle

import (
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/nodelifecycle/decide"
)

// heartbeat is the state of one node's heartbeats, by the clock of this process.
type heartbeat struct {
	// heard is the time of the last heartbeat.
	heard time.Time
	// since is the time at which the Ready condition was first observed with its status.
	since  time.Time
	status corev1.ConditionStatus
	// posted and renewed are the last observed timestamps: a heartbeat changes one of them.
	posted  metav1.Time
	renewed metav1.MicroTime
}

// hear records a heartbeat.
func (b *heartbeat) hear(now time.Time, late time.Duration) {
	if at := now.Add(-late); late == 0 || at.After(b.heard) {
		b.heard = at
	}
}

// heard holds the heartbeats of all nodes. It is safe for concurrent use.
type heard struct {
	mu     sync.Mutex
	byNode map[string]*heartbeat
}

func newHeard() *heard { return &heard{byNode: map[string]*heartbeat{}} }

// node records the state of a node. The first observation counts as a heartbeat. late is how long ago the
// node sent the report if it was written late.
func (h *heard) node(n *corev1.Node, now time.Time, late time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ready := decide.ConditionOf(n, corev1.NodeReady)
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
		b.hear(now, late)
		b.posted = posted
	}
}

// lease records a renewal of a node's Lease. It ignores Leases of unknown nodes. late is how long ago the node
// sent the renewal if it was written late.
func (h *heard) lease(l *coordinationv1.Lease, now time.Time, late time.Duration) {
	if l.Spec.RenewTime == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.byNode[l.Name]
	if b != nil && b.renewed.Before(l.Spec.RenewTime) {
		b.hear(now, late)
		b.renewed = *l.Spec.RenewTime
	}
}

func (h *heard) forget(node string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.byNode, node)
}

// hearAll records a heartbeat for every node.
func (h *heard) hearAll(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.byNode {
		b.heard, b.since = now, now
	}
}

func (h *heard) get(node string) (heartbeat, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.byNode[node]
	if b == nil {
		return heartbeat{}, false
	}
	return *b, true
}
