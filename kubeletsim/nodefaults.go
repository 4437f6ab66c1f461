package kubeletsim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// ErrNoNode means that no simulated node has the given name.
var ErrNoNode = errors.New("there is no simulated node of that name")

// errShared is returned by AddNode and AddNodes.
var errShared = errors.New("adding nodes: several processes simulate the nodes of this cluster together: create the Node in the API instead, as \"minikcm node add\" does")

// StopNode cuts a node off from the network: it renews no lease, writes no status and does not
// act on its pods. Its containers go on running.
func (k *injector) StopNode(name string) error { return k.stopNode(name, false) }

// CrashNode stops a node and its containers. After StartNode the containers have terminated
// with exit code 255, reason Unknown.
func (k *injector) CrashNode(name string) error { return k.stopNode(name, true) }

func (k *injector) stopNode(name string, crash bool) error {
	n := k.nodes.Get(name)
	if n == nil {
		return fmt.Errorf("stopping node %s: %w", name, ErrNoNode)
	}
	k.flush(n)
	if !n.IsCrashed() && n.Connected() {
		k.fabric.StopView(name, viewCutOff)
	}
	n.Stop(crash)
	k.due.Set(nodeKey(name), time.Time{})
	k.fabric.Changed()
	return nil
}

// StartNode brings back a node that was stopped or crashed, or whose Node was deleted. The node
// registers if necessary, possibly with other addresses, and does the actions that have become due. The
// error is ErrNoNode if no node has the name, or if a client had created its Node, which was
// deleted.
func (k *injector) StartNode(name string) error {
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
	if n.IsCrashed() || !n.Connected() {
		k.fabric.StartView(name, viewCutOff)
	}
	crashed := n.Start()
	if k.nodes.Get(name) != n {
		// The node was dropped before Start cleared that it was lost. Now it can be restored.
		return k.StartNode(name)
	}
	if crashed {
		k.rebootPods(name)
	}
	k.attaching.releaseLost(n)
	k.wakeNode(name)
	return nil
}

// SetNodeCondition makes a node's kubelet report memory, disk or PID pressure, or with Ready a
// failed container runtime, or stop reporting it. Pods are neither evicted nor refused for it.
func (k *injector) SetNodeCondition(name string, condition corev1.NodeConditionType, trouble bool) error {
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

func (k *nodeManager) wakeNode(name string) {
	k.loop.Add(nodeKey(name))
	k.loop.Add(pressureKey(name))
	k.statics.offerOn(name)
	k.wakePods(name)
	k.fabric.Changed()
}

// AddNode adds a node, which registers once Run has begun. It fails if the name is taken or no
// addresses are left.
func (k *nodeManager) AddNode(spec nodes.Spec) error {
	if k.shards != nil {
		return errShared
	}
	if err := k.nodes.Add(spec); err != nil {
		return err
	}
	k.wakeNode(spec.Name)
	k.relinkNode(k.nodes.Get(spec.Name))
	return nil
}

// AddNodes adds n nodes like Options.Node with the next free names of the form node-N and
// returns the names. On an error, it returns those that were added.
func (k *nodeManager) AddNodes(n int) ([]string, error) {
	if k.shards != nil {
		return nil, errShared
	}
	names, err := k.nodes.AddNumbered(n, k.opts.Node)
	for _, name := range names {
		k.wakeNode(name)
		k.relinkNode(k.nodes.Get(name))
	}
	return names, err
}

// Nodes lists the simulated nodes, including stopped ones, in the order in which they were
// added.
func (k *nodeManager) Nodes() []string { return k.nodes.Names() }

// Pools lists the pools that the cluster began with. Nodes without a pool are the pool "node".
func (k *nodeManager) Pools() []nodes.Pool {
	all := slices.Clone(k.opts.Pools)
	if k.opts.Nodes > 0 {
		all = append(all, nodes.Pool{Count: k.opts.Nodes, Node: k.opts.Node})
	}
	for i := range all {
		all[i].Name = cmp.Or(all[i].Name, nodes.DefaultPool)
	}
	return all
}
