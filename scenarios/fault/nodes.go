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
	NodePressure  = "pressure"
	NodeCordon    = "cordon"
	NodeDrain     = "drain"
	NodeTaint     = "taint"
	NodeDelete    = "delete"
)

// Nodes is a fault of nodes.
type Nodes struct {
	// Action is crash (the machine goes down), partition (nothing is heard of it), hang
	// (its container runtime does nothing), slow (pods start later), pressure, cordon,
	// drain, taint or delete.
	Action string `yaml:"action"`
	// Selector and Names say which match; without them, all do.
	Selector string   `yaml:"selector"`
	Names    []string `yaml:"names"`
	Share    `yaml:",inline"`
	// Delay is how much later pods start.
	Delay Duration `yaml:"delay"`
	// Pressure is of memory, disk or pid; default memory.
	Pressure string `yaml:"pressure"`
	// Taint is KEY=VALUE:EFFECT or KEY:EFFECT.
	Taint string `yaml:"taint"`
}

func (n *Nodes) check(c *checker) {
	c.action(n.Action, []string{NodeCrash, NodePartition, NodeHang, NodeSlow, NodePressure, NodeCordon, NodeDrain, NodeTaint, NodeDelete})
	c.selector("selector", n.Selector)
	if len(n.Names) > 0 && n.Selector != "" {
		c.problem("names", "and a selector cannot both be given")
	}
	if len(n.Names) > 0 && n.Share == (Share{}) {
		n.All = true
	}
	n.Share.check(c)
	c.only("delay", n.Delay != 0, n.Action, NodeSlow)
	c.only("pressure", n.Pressure != "", n.Action, NodePressure)
	c.only("taint", n.Taint != "", n.Action, NodeTaint)
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
	}
	if len(n.Names) > 0 {
		return verb + " " + n.which()
	}
	return fmt.Sprintf("%s %s of %s", verb, &n.Share, n.which())
}

func (n *Nodes) lasts() bool   { return n.Action != NodeDelete }
func (n *Nodes) outside() bool { return byAPI(n.Action) }
func (n *Nodes) needs() Needs  { return Needs{} }

// byAPI is whether the API is enough for it.
func byAPI(action string) bool {
	return slices.Contains([]string{NodeCordon, NodeDrain, NodeTaint, NodeDelete}, action)
}

func (n *Nodes) inject(ctx context.Context, env *Env) (injected, error) {
	list, err := env.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: n.Selector})
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", n.which(), err)
	}
	candidates := slices.DeleteFunc(list.Items, func(node corev1.Node) bool { return len(n.Names) > 0 && !slices.Contains(n.Names, node.Name) })
	if len(candidates) < len(n.Names) {
		return nil, fmt.Errorf("%w: not all of %s exist", errNobody, n.which())
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
	return all(undo), nil
}

// hit breaks one node.
func (n *Nodes) hit(ctx context.Context, env *Env, name string) (injected, error) {
	if byAPI(n.Action) {
		return n.byAPI(ctx, env, name)
	}
	kubelets := env.Cluster.Kubelets()
	back := func(do func() error) injected {
		return func(context.Context) error {
			err := do()
			if errors.Is(err, minikcm.ErrNoNode) { // deleted meanwhile, as by an autoscaler
				env.note("node/%s is gone", name)
				return nil
			}
			env.note("node/%s is back", name)
			return err
		}
	}
	start := back(func() error { return kubelets.StartNode(name) })
	switch n.Action {
	case NodeCrash:
		env.note("node/%s crashed", name)
		return start, kubelets.CrashNode(name)
	case NodePartition:
		env.note("node/%s is cut off", name)
		return start, kubelets.StopNode(name)
	case NodeHang:
		env.note("node/%s hangs", name)
		return back(func() error { return kubelets.UnhangNode(name) }), kubelets.HangNode(name)
	case NodeSlow:
		env.note("node/%s starts pods %v later", name, n.Delay)
		return back(func() error { return kubelets.SlowNode(name, 0) }), kubelets.SlowNode(name, time.Duration(n.Delay))
	case NodePressure:
		condition := pressures()[n.Pressure]
		env.note("node/%s has %s", name, condition)
		return back(func() error { return kubelets.SetTrouble(name, condition, false) }), kubelets.SetTrouble(name, condition, true)
	}
	return nil, errors.New("there is nothing to do to a node")
}
