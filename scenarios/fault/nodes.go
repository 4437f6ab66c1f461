package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
)

// The actions of nodes.
const (
	NodeCrash     = "crash"
	NodePartition = "partition"
	NodeHang      = "hang"
	NodeSlow      = "slow"
	NodeStopProxy = "stopProxy"
	NodePressure  = "pressure"
	NodeCordon    = "cordon"
	NodeDrain     = "drain"
	NodeTaint     = "taint"
	NodeDelete    = "delete"
	// The actions of the nodes' instances in the simulated cloud.
	NodeStopInstance   = "stopInstance"
	NodeDeleteInstance = "deleteInstance"
)

// nodeActions lists the actions on nodes.
var nodeActions = []Action{
	{Name: NodeCrash, Does: "take machines down; when they are back, they have been rebooted", Lasts: LastingAlways},
	{Name: NodePartition, Does: "cut nodes off from the network; their containers run on", Lasts: LastingAlways},
	{Name: NodeHang, Does: "let container runtimes hang; leases are renewed, and nothing happens to pods", Lasts: LastingAlways},
	{Name: NodeSlow, Does: "let pods start later", Lasts: LastingAlways, Fields: []string{"delay"}},
	{Name: NodeStopProxy, Does: "stop the kube-proxy of nodes: their rules of Services stay as they are", Lasts: LastingAlways},
	{Name: NodePressure, Does: "let nodes be short of memory, disk or process IDs", Lasts: LastingAlways, Fields: []string{"pressure"}},
	{Name: NodeCordon, Does: "cordon nodes, as kubectl does", Lasts: LastingAlways, ByAPI: true},
	{Name: NodeDrain, Does: "drain nodes, as kubectl does: evictions that a budget refuses are asked for again", Lasts: LastingAlways, ByAPI: true, Fields: []string{"force", "deleteEmptydirData"}},
	{Name: NodeTaint, Does: "add a taint to nodes", Lasts: LastingAlways, ByAPI: true, Fields: []string{"taint"}},
	{Name: NodeDelete, Does: "delete Nodes", ByAPI: true},
	{Name: NodeStopInstance, Does: "stop the nodes' instances in the simulated cloud, as their owner does", Lasts: LastingAlways, ByAPI: true},
	{Name: NodeDeleteInstance, Does: "delete the nodes' instances in the simulated cloud; their Nodes follow", ByAPI: true},
}

// Nodes is a fault of nodes.
type Nodes struct {
	// Action is crash (the machine goes down), partition (nothing is heard of it), hang
	// (its container runtime does nothing), slow (pods start later), stopProxy (its rules of Services stay as they are), pressure,
	// cordon, drain, taint or delete; or stopInstance or deleteInstance, for nodes in the simulated
	// cloud.
	Action string `yaml:"action,omitempty"`
	// Selector is a label selector of the nodes. Without it and names, all match.
	Selector string `yaml:"selector,omitempty"`
	// Names are the names of the nodes.
	Names []string `yaml:"names,omitempty"`
	Share `yaml:",inline"`
	// Delay is the delay of the start of pods.
	Delay Duration `yaml:"delay,omitempty"`
	// Pressure is the scarce resource: memory, disk or pid; default memory.
	Pressure string `yaml:"pressure,omitempty"`
	// Force says that a drain also evicts pods that no controller replaces. Without it, nodes with such
	// pods are not drained.
	Force bool `yaml:"force,omitempty"`
	// DeleteEmptydirData says that a drain also evicts pods with emptyDir volumes. Without it, nodes
	// with such pods are not drained.
	DeleteEmptydirData bool `yaml:"deleteEmptydirData,omitempty"`
	// Taint is the taint to add, KEY=VALUE:EFFECT or KEY:EFFECT.
	Taint string `yaml:"taint,omitempty"`
}

func (n *Nodes) check(c *checker) {
	c.row(n, n.Action)
	c.selector("selector", n.Selector)
	if len(n.Names) > 0 && n.Selector != "" {
		c.problem("names", "and a selector cannot both be given")
	}
	if len(n.Names) > 0 && n.Share == (Share{}) {
		n.All = true
	}
	n.Share.check(c)
	switch n.Action {
	case NodeSlow:
		c.positive("delay", n.Delay)
	case NodePressure:
		if n.Pressure == "" {
			n.Pressure = "memory"
		}
		if _, ok := pressures()[n.Pressure]; !ok {
			c.problem("pressure", "%q is not known; known are memory, disk, pid", n.Pressure)
		}
	case NodeTaint:
		if _, err := ParseTaint(n.Taint); err != nil {
			c.problem("taint", "%v", err)
		}
	}
}

func pressures() map[string]corev1.NodeConditionType {
	return map[string]corev1.NodeConditionType{"memory": corev1.NodeMemoryPressure, "disk": corev1.NodeDiskPressure, "pid": corev1.NodePIDPressure}
}

// ParseTaint reads KEY=VALUE:EFFECT or KEY:EFFECT.
func ParseTaint(text string) (corev1.Taint, error) {
	pair, effect, ok := strings.Cut(text, ":")
	key, value, _ := strings.Cut(pair, "=")
	effects := []string{string(corev1.TaintEffectNoSchedule), string(corev1.TaintEffectPreferNoSchedule), string(corev1.TaintEffectNoExecute)}
	if !ok || key == "" || !slices.Contains(effects, effect) {
		return corev1.Taint{}, fmt.Errorf("%q is not a taint; write KEY=VALUE:EFFECT with one of the effects %s", text, strings.Join(effects, ", "))
	}
	return corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}, nil
}

func (n *Nodes) which() string {
	switch {
	case len(n.Names) > 0:
		return "nodes " + strings.Join(n.Names, ", ")
	case n.Selector != "":
		return "the nodes " + n.Selector
	}
	return "the nodes"
}

func (n *Nodes) title() string {
	verb := n.Action
	switch n.Action {
	case NodePressure:
		verb = n.Pressure + " pressure on"
	case NodeSlow:
		verb = "slow down"
	case NodePartition:
		verb = "cut off"
	case NodeStopProxy:
		verb = "stop kube-proxy on"
	case NodeStopInstance:
		verb = "stop the instances of"
	case NodeDeleteInstance:
		verb = "delete the instances of"
	}
	if len(n.Names) > 0 {
		return verb + " " + n.which()
	}
	return fmt.Sprintf("%s %s of %s", verb, &n.Share, n.which())
}

func (n *Nodes) action() (Action, bool) { return find(nodeActions, n.Action) }
func (n *Nodes) needs() Needs           { return Needs{} }

func (n *Nodes) inject(ctx context.Context, env *Env) (injected, error) {
	list, err := env.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: n.Selector})
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", n.which(), err)
	}
	candidates := slices.DeleteFunc(list.Items, func(node corev1.Node) bool { return len(n.Names) > 0 && !slices.Contains(n.Names, node.Name) })
	if len(candidates) < len(n.Names) {
		return nil, fmt.Errorf("%w: not all of %s exist", errNoMatch, n.which())
	}
	nodes, err := pick(candidates, &n.Share, env.Random, n.which(), func(node corev1.Node) string { return node.Name })
	if err != nil {
		return nil, err
	}
	var undo []injected
	for i := range nodes {
		u, err := n.hit(ctx, env, nodes[i].Name)
		if u != nil {
			undo = append(undo, u)
		}
		if err != nil {
			return all(undo), err
		}
	}
	if n.Action == NodeDrain {
		return all(undo), n.beginDrain(ctx, env, nodes)
	}
	return all(undo), nil
}

// hit breaks one node.
func (n *Nodes) hit(ctx context.Context, env *Env, name string) (injected, error) {
	if row, _ := n.action(); row.ByAPI {
		return n.byAPI(ctx, env, name)
	}
	kubelets := env.Cluster.Kubelets()
	hold := func(what, becomes string, breaks, mends func() error) (injected, error) {
		undo, err := env.Holds.hold(what+" of node/"+name, breaks, func() error {
			if err := mends(); err != nil {
				return err
			}
			env.note("node/%s is back", name)
			return nil
		})
		if err != nil {
			return nil, err
		}
		env.note("node/%s %s", name, becomes)
		return func(ctx context.Context) error {
			err := undo(ctx)
			if errors.Is(err, minikcm.ErrNoNode) { // deleted meanwhile, as by an autoscaler
				env.note("node/%s is gone", name)
				return nil
			}
			return err
		}, nil
	}
	start := func() error { return kubelets.StartNode(name) }
	switch n.Action {
	case NodeCrash:
		return hold("machine", "crashed", func() error { return kubelets.CrashNode(name) }, start)
	case NodePartition:
		return hold("machine", "is cut off", func() error { return kubelets.StopNode(name) }, start)
	case NodeHang:
		return hold("runtime", "hangs", func() error { return kubelets.HangNode(name) }, func() error { return kubelets.UnhangNode(name) })
	case NodeSlow:
		return hold("pace", fmt.Sprintf("starts pods %v later", n.Delay),
			func() error { return kubelets.SlowNode(name, time.Duration(n.Delay)) }, func() error { return kubelets.SlowNode(name, 0) })
	case NodeStopProxy:
		return hold("kube-proxy", "follows no changes of Services", func() error { return kubelets.StopProxy(name) }, func() error { return kubelets.StartProxy(name) })
	case NodePressure:
		condition := pressures()[n.Pressure]
		set := func(to bool) func() error {
			return func() error { return kubelets.SetNodeCondition(name, condition, to) }
		}
		return hold(n.Pressure, fmt.Sprintf("has %s", condition), set(true), set(false))
	}
	return nil, errors.New("there is nothing to do to a node")
}
