package fault

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The actions of nodes.
const (
	NodeCrash     = "crash"
	NodePartition = "partition"
)

// Nodes is a fault of nodes.
type Nodes struct {
	// Action is crash (the machine goes down) or partition (nothing is heard of it).
	Action string `yaml:"action"`
	// Selector and Names say which match; without them, all do.
	Selector string   `yaml:"selector"`
	Names    []string `yaml:"names"`
	Share    `yaml:",inline"`
}

func (n *Nodes) check(c *checker) {
	c.action(n.Action, []string{NodeCrash, NodePartition})
	c.selector("selector", n.Selector)
	if len(n.Names) > 0 && n.Selector != "" {
		c.problem("names", "and a selector cannot both be given")
	}
	if len(n.Names) > 0 && n.Share == (Share{}) {
		n.All = true
	}
	n.Share.check(c)
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
	if len(n.Names) > 0 {
		return n.Action + " " + n.which()
	}
	return fmt.Sprintf("%s %s of %s", n.Action, &n.Share, n.which())
}

func (n *Nodes) lasts() bool   { return true }
func (n *Nodes) outside() bool { return false }
func (n *Nodes) needs() Needs  { return Needs{} }

func (n *Nodes) inject(ctx context.Context, env *Env) (injected, error) {
	list, err := env.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: n.Selector})
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", n.which(), err)
	}
	named := map[string]bool{}
	for _, name := range n.Names {
		named[name] = true
	}
	var candidates []corev1.Node
	for i := range list.Items {
		if len(named) == 0 || named[list.Items[i].Name] {
			candidates = append(candidates, list.Items[i])
		}
	}
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
func (n *Nodes) hit(_ context.Context, env *Env, name string) (injected, error) {
	kubelets := env.Cluster.Kubelets()
	back := func(context.Context) error {
		env.note("node/%s is back", name)
		return kubelets.StartNode(name)
	}
	switch n.Action {
	case NodeCrash:
		env.note("node/%s crashed", name)
		return back, kubelets.CrashNode(name)
	case NodePartition:
		env.note("node/%s is cut off", name)
		return back, kubelets.StopNode(name)
	}
	return nil, nil
}
