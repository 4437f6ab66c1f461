package kubeletsim

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/nodes"
)

// ErrNoNode is the error of what is done to a node that these kubelets do not simulate.
var ErrNoNode = errors.New("there is no simulated node of that name")

// StopNode lets nothing be heard of a node any more, as when it is cut off from the
// network: it renews no lease, writes no status, and does nothing about its pods. Its
// containers run on.
func (k *Kubelet) StopNode(name string) error { return k.stopNode(name, false) }

// CrashNode is StopNode for a machine that goes down, and its containers with it.
// When it is started again, they have ended with exit code 255, reason Unknown.
func (k *Kubelet) CrashNode(name string) error { return k.stopNode(name, true) }

func (k *Kubelet) stopNode(name string, crash bool) error {
	n := k.nodes.Get(name)
	if n == nil {
		return fmt.Errorf("stopping node %s: %w", name, ErrNoNode)
	}
	n.Stop(crash)
	k.due.Set(nodeKey(name), time.Time{})
	return nil
}

// StartNode brings back a node that was stopped or crashed, or whose Node was
// deleted: it registers if it has to, and does about its pods what is due by then. One
// whose Node was deleted may get other addresses. The error is ErrNoNode if there is no such
// node, or a client had made its Node and that was deleted.
func (k *Kubelet) StartNode(name string) error {
	switch restored, err := k.nodes.Restore(name); {
	case err != nil:
		return fmt.Errorf("starting node %s: %w", name, err)
	case restored:
		k.wakeNode(name)
		return nil
	}
	n := k.nodes.Get(name)
	if n == nil || n.Managed && n.IsLost() {
		return fmt.Errorf("starting node %s: %w", name, ErrNoNode)
	}
	crashed := n.Start()
	if k.nodes.Get(name) != n {
		// It was dropped before start took back that it is lost: now it can be restored.
		return k.StartNode(name)
	}
	if crashed {
		k.rebootPods(name)
	}
	k.wakeNode(name)
	return nil
}

// rebootPods lets the pods of a machine that was down find that their containers have ended.
func (k *Kubelet) rebootPods(name string) {
	for _, uid := range k.pods.on(name) {
		if e := k.pods.get(uid); e != nil {
			e.hit(lifecycle.Occurrence{Kind: lifecycle.Reboot})
		}
	}
}

// SetTrouble lets a node's kubelet complain of memory, disk or PID pressure, or of its
// runtime (with the condition Ready), or not any more. It evicts no pods for it.
func (k *Kubelet) SetTrouble(name string, condition corev1.NodeConditionType, trouble bool) error {
	n := k.nodes.Get(name)
	if n == nil {
		return fmt.Errorf("setting %s of node %s: %w", condition, name, ErrNoNode)
	}
	if !nodes.IsKubeletCondition(condition) {
		return fmt.Errorf("setting %s of node %s: that is not a condition that kubelets keep", condition, name)
	}
	n.SetCondition(condition, trouble)
	k.loop.Add(nodeKey(name))
	return nil
}

func (k *Kubelet) wakeNode(name string) {
	k.loop.Add(nodeKey(name))
	k.wakePods(name)
}

func (k *Kubelet) wakePods(name string) {
	for _, uid := range k.pods.on(name) {
		k.loop.Add(podKey(string(uid)))
	}
}

// AddNode adds a node. It is registered soon after, once Run has begun.
func (k *Kubelet) AddNode(spec nodes.Spec) error {
	if err := k.nodes.Add(spec); err != nil {
		return err
	}
	k.wakeNode(spec.Name)
	return nil
}

// AddNodes adds n nodes like Options.Node with the next free names of the form
// node-N, which it returns; with an error, those that were added before it.
func (k *Kubelet) AddNodes(n int) ([]string, error) {
	names, err := k.nodes.AddNumbered(n, k.opts.Node)
	for _, name := range names {
		k.wakeNode(name)
	}
	return names, err
}

// Nodes lists the simulated nodes, stopped ones too, in the order in which they
// were added.
func (k *Kubelet) Nodes() []string { return k.nodes.Names() }
