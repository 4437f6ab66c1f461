package nodes

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/lifecycle"
)

// faults is what a node's kubelet suffers beside being out of reach. The node's mutex
// guards it.
type faults struct {
	// hangs: its container runtime answers nothing; hung counts how often that began.
	hangs bool
	hung  int
	// slow is how much longer pods take to start; skew is by how much its clock is off.
	slow, skew time.Duration
}

// Active is whether the node's kubelet can do anything about its pods.
func (n *Node) Active() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.stopped && !n.lost && !n.hangs && !n.settling
}

// LocalTime is what the node's own clock shows.
func (n *Node) LocalTime(now time.Time) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return now.Add(n.skew)
}

// Latencies are those of the pods on the node.
func (n *Node) Latencies(common *lifecycle.Latencies) *lifecycle.Latencies {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.slow == 0 {
		return common
	}
	own := *common
	own.PodStart += n.slow
	return &own
}

// Hang makes the container runtime hang. It returns the number of this hang, for hangsSince.
func (n *Node) Hang() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hangs = true
	n.hung++
	return n.hung
}

// HangsSince reports whether the hang of that number has not ended.
func (n *Node) HangsSince(number int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hangs && n.hung == number
}

// Unhang ends hang.
func (n *Node) Unhang() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hangs = false
}

// SetSlow makes pods take longer to start by by; 0: no longer than elsewhere.
func (n *Node) SetSlow(by time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.slow = by
}

// SetSkew sets by how much the node's clock is ahead.
func (n *Node) SetSkew(by time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.skew = by
}

// SetCondition sets or clears a condition that the kubelet reports.
func (n *Node) SetCondition(condition corev1.NodeConditionType, trouble bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.troubled == nil {
		n.troubled = map[corev1.NodeConditionType]bool{}
	}
	n.troubled[condition] = trouble
	n.changed = true
}
