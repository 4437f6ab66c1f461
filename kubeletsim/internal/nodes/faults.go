package nodes

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

// faults are the injected faults of a node except being out of reach. The node's mutex guards
// them.
type faults struct {
	// hangs means that the container runtime does not respond. hung counts the hangs.
	hangs bool
	hung  int
	// slow is the additional start time of pods, skew the offset of the node's clock.
	slow, skew time.Duration
}

// Active reports whether the node's kubelet can act on its pods.
func (n *Node) Active() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.stopped && !n.off && !n.unasked && !n.lost && !n.hangs && !n.settling
}

// LocalTime returns the time of the node's own clock.
func (n *Node) LocalTime(now time.Time) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return now.Add(n.skew)
}

// Latencies returns the latencies of the pods on the node, given the latencies common to all nodes.
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

// Hang makes the container runtime hang. It returns the number of this hang, for HangsSince.
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

// Unhang ends Hang.
func (n *Node) Unhang() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hangs = false
}

// SetSlow sets the additional start time of the node's pods.
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
	if condition == corev1.NodeReady {
		n.notReady = conditionText{}
	}
	n.changed = true
}
