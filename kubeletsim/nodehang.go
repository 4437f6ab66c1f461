package kubeletsim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/lifecycle"
)

// runtimePatience is how long a kubelet does not hear of its container runtime before
// it says that this is down.
const runtimePatience = 30 * time.Second

// suffering is what a node's kubelet suffers beside being out of reach. The node's mutex
// guards it.
type suffering struct {
	// hangs: its container runtime answers nothing; hung counts how often that began.
	hangs bool
	hung  int
	// slow is how much longer pods take to start; skew is by how much its clock is off.
	slow, skew time.Duration
}

// HangNode lets a node's container runtime hang: the kubelet goes on to renew the lease,
// and can do nothing about its pods. Half a minute later it says so, and is not ready.
func (k *Kubelet) HangNode(name string) error {
	n := k.nodes.get(name)
	if n == nil {
		return fmt.Errorf("hanging node %s: %w", name, ErrNoNode)
	}
	n.mu.Lock()
	n.hangs = true
	n.hung++
	since := n.hung
	n.mu.Unlock()
	k.opts.Clock.AfterFunc(runtimePatience, func() {
		n.mu.Lock()
		still := n.hangs && n.hung == since
		n.mu.Unlock()
		if still && k.nodes.get(name) == n {
			_ = k.SetTrouble(name, corev1.NodeReady, true) // it exists
		}
	})
	return nil
}

// UnhangNode takes back HangNode: the kubelet does about its pods what is due by then.
func (k *Kubelet) UnhangNode(name string) error {
	n := k.nodes.get(name)
	if n == nil {
		return fmt.Errorf("unhanging node %s: %w", name, ErrNoNode)
	}
	n.mu.Lock()
	n.hangs = false
	n.mu.Unlock()
	if err := k.SetTrouble(name, corev1.NodeReady, false); err != nil {
		return err
	}
	k.wakeNode(name)
	return nil
}

// SlowNode makes pods on a node take longer to start by by; 0: no longer than elsewhere.
func (k *Kubelet) SlowNode(name string, by time.Duration) error {
	return k.suffer(name, func(s *suffering) { s.slow = by })
}

// SkewNode lets a node's clock be off by by: what it writes about itself, its lease's
// renewals too, has the wrong time.
func (k *Kubelet) SkewNode(name string, by time.Duration) error {
	return k.suffer(name, func(s *suffering) { s.skew = by })
}

func (k *Kubelet) suffer(name string, change func(*suffering)) error {
	n := k.nodes.get(name)
	if n == nil {
		return fmt.Errorf("breaking node %s: %w", name, ErrNoNode)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	change(&n.suffering)
	return nil
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

// ClockWasSet makes the kubelets that can be heard of look at their clock anew: what they
// were to do at a time that has become far is due now.
func (k *Kubelet) ClockWasSet() {
	for _, name := range k.nodes.names() {
		n := k.nodes.get(name)
		if n == nil || !n.reachable() {
			continue
		}
		n.mu.Lock()
		n.resumed = true
		n.mu.Unlock()
		k.wakeNode(name)
	}
}
