package kubeletsim

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/lifecycle"
)

// suffering is what a node's kubelet suffers beside being out of reach. The node's mutex
// guards it.
type suffering struct {
	// hangs: its container runtime answers nothing; hung counts how often that began.
	hangs bool
	hung  int
	// slow is how much longer pods take to start; skew is by how much its clock is off.
	slow, skew time.Duration
}

// active is whether the node's kubelet can do anything about its pods.
func (n *node) active() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.stopped && !n.lost && !n.hangs && !n.settling
}

// clocked is what the node's own clock shows.
func (n *node) clocked(now time.Time) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return now.Add(n.skew)
}

// latencies are those of the pods on the node.
func (n *node) latencies(common *lifecycle.Latencies) *lifecycle.Latencies {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.slow == 0 {
		return common
	}
	own := *common
	own.PodStart += n.slow
	return &own
}

// hang makes the container runtime hang. It returns the number of this hang, for hangsSince.
func (n *node) hang() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hangs = true
	n.hung++
	return n.hung
}

// hangsSince reports whether the hang of that number has not ended.
func (n *node) hangsSince(number int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hangs && n.hung == number
}

// unhang ends hang.
func (n *node) unhang() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hangs = false
}

// setSlow makes pods take longer to start by by; 0: no longer than elsewhere.
func (n *node) setSlow(by time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.slow = by
}

// setSkew sets by how much the node's clock is ahead.
func (n *node) setSkew(by time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.skew = by
}

// setTrouble sets or clears a condition that the kubelet reports.
func (n *node) setTrouble(condition corev1.NodeConditionType, trouble bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.trouble == nil {
		n.trouble = map[corev1.NodeConditionType]bool{}
	}
	n.trouble[condition] = trouble
	n.changed = true
}
