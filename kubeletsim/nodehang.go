package kubeletsim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/nodes"
)

// runtimePatience is how long a kubelet does not hear of its container runtime before
// it says that this is down.
const runtimePatience = 30 * time.Second

// HangNode lets a node's container runtime hang: the kubelet goes on to renew the lease,
// and can do nothing about its pods. Half a minute later it says so, and is not ready.
func (k *Kubelet) HangNode(name string) error {
	n := k.nodes.Get(name)
	if n == nil {
		return fmt.Errorf("hanging node %s: %w", name, ErrNoNode)
	}
	number := n.Hang()
	k.opts.Clock.AfterFunc(runtimePatience, func() {
		if n.HangsSince(number) && k.nodes.Get(name) == n {
			_ = k.SetTrouble(name, corev1.NodeReady, true) // it exists
		}
	})
	return nil
}

// UnhangNode takes back HangNode: the kubelet does about its pods what is due by then.
func (k *Kubelet) UnhangNode(name string) error {
	n := k.nodes.Get(name)
	if n == nil {
		return fmt.Errorf("unhanging node %s: %w", name, ErrNoNode)
	}
	n.Unhang()
	if err := k.SetTrouble(name, corev1.NodeReady, false); err != nil {
		return err
	}
	k.wakeNode(name)
	return nil
}

// SlowNode makes pods on a node take longer to start by by; 0: no longer than elsewhere.
func (k *Kubelet) SlowNode(name string, by time.Duration) error {
	return k.suffer(name, func(n *nodes.Node) { n.SetSlow(by) })
}

// SkewNode lets a node's clock be off by by: what it writes about itself, its lease's
// renewals too, has the wrong time.
func (k *Kubelet) SkewNode(name string, by time.Duration) error {
	return k.suffer(name, func(n *nodes.Node) { n.SetSkew(by) })
}

func (k *Kubelet) suffer(name string, change func(*nodes.Node)) error {
	n := k.nodes.Get(name)
	if n == nil {
		return fmt.Errorf("breaking node %s: %w", name, ErrNoNode)
	}
	change(n)
	return nil
}

// ClockWasSet makes the kubelets that can be heard of look at their clock anew: what they
// were to do at a time that has become far is due now.
func (k *Kubelet) ClockWasSet() {
	for _, name := range k.nodes.Names() {
		n := k.nodes.Get(name)
		if n == nil || !n.Reachable() {
			continue
		}
		n.Resume()
		k.wakeNode(name)
	}
}
