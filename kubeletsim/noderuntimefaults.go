package kubeletsim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// runtimePatience is how long a container runtime may fail to respond before the kubelet
// reports it.
const runtimePatience = 30 * time.Second

// HangNode makes a node's container runtime hang. The kubelet continues to renew its lease but
// cannot act on its pods, and reports NotReady after 30 seconds.
func (k *injector) HangNode(name string) error {
	n := k.nodes.Get(name)
	if n == nil {
		return fmt.Errorf("hanging node %s: %w", name, ErrNoNode)
	}
	number := n.Hang()
	k.opts.Clock.AfterFunc(runtimePatience, func() {
		if n.HangsSince(number) && k.nodes.Get(name) == n {
			_ = k.SetNodeCondition(name, corev1.NodeReady, true) // it exists
		}
	})
	return nil
}

// UnhangNode ends HangNode. The kubelet then does the actions that have become due.
func (k *injector) UnhangNode(name string) error {
	n := k.nodes.Get(name)
	if n == nil {
		return fmt.Errorf("unhanging node %s: %w", name, ErrNoNode)
	}
	n.Unhang()
	k.attaching.releaseLost(n)
	if err := k.SetNodeCondition(name, corev1.NodeReady, false); err != nil {
		return err
	}
	k.wakeNode(name)
	return nil
}

// SlowNode adds by to the start time of pods on a node; 0 ends it.
func (k *injector) SlowNode(name string, by time.Duration) error {
	return k.suffer(name, func(n *nodes.Node) { n.SetSlow(by) })
}

// SkewNode sets the offset of a node's clock, which applies to the times in its status and
// lease; 0 ends it.
func (k *injector) SkewNode(name string, by time.Duration) error {
	return k.suffer(name, func(n *nodes.Node) { n.SetSkew(by) })
}

func (k *injector) suffer(name string, change func(*nodes.Node)) error {
	n := k.nodes.Get(name)
	if n == nil {
		return fmt.Errorf("breaking node %s: %w", name, ErrNoNode)
	}
	k.flush(n)
	change(n)
	return nil
}

// ClockChanges writes the heartbeats that were sent by the old time, before the cluster's clock is set.
func (k *nodeManager) ClockChanges() {
	for _, n := range k.named("") {
		k.flush(n)
	}
}

// ClockChanged makes reachable kubelets report at once after the cluster's clock was set,
// because timers of the old time may be far in the future.
func (k *nodeManager) ClockChanged() {
	for _, name := range k.nodes.Names() {
		n := k.nodes.Get(name)
		if n == nil || !n.Reachable() {
			continue
		}
		n.Resume()
		k.wakeNode(name)
	}
}
