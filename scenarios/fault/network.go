package fault

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/network/ends"
	"minikcm.dev/minikcm/internal/network/faults"
)

// The actions of the network.
const (
	NetworkPartition = "partition"
	NetworkDelay     = "delay"
	NetworkLoss      = "loss"
	NetworkCorrupt   = "corrupt"
	NetworkBandwidth = "bandwidth"
	NetworkReset     = "reset"
)

// networkActions lists the actions on the network.
var networkActions = []Action{
	{Name: NetworkPartition, Does: "lose all packets between two selections", Lasts: LastingAlways, Fields: []string{"direction"}},
	{Name: NetworkDelay, Does: "let packets take longer", Lasts: LastingAlways, Fields: []string{"delay", "spread", "direction"}},
	{Name: NetworkLoss, Does: "lose a part of the packets, which are sent again as Linux does", Lasts: LastingAlways, Fields: []string{"percent", "direction"}},
	{Name: NetworkCorrupt, Does: "damage a part of the packets; their checksum is wrong, so that they are lost", Lasts: LastingAlways, Fields: []string{"percent", "direction"}},
	{Name: NetworkBandwidth, Does: "let answers take the time of a slow link", Lasts: LastingAlways, Fields: []string{"rate"}},
	{Name: NetworkReset, Does: "end connections when data comes", Lasts: LastingAlways, Fields: []string{"percent"}},
}

// hidden are faults of networks that no program of the simulated network would see.
var hidden = map[string]string{
	"duplicate": "TCP and the resolver drop packets that come twice",
	"reorder":   "TCP puts packets in order; use delay with spread for packets that come later",
}

// Between selects the connections that a fault of the network meets.
type Between struct {
	// From are the ends between which and To packets are met: KEY=VALUE (labels of pods), pod/NAME, deploy/NAME and other
	// workloads, svc/NAME, namespace/NAME, node/NAME, zone/NAME, an address or network, apiserver, outside (of the cluster), or * (all);
	// default *. It does not matter which end connects.
	From []string `yaml:"from,omitempty"`
	// To are the other ends, written as From; default *.
	To []string `yaml:"to,omitempty"`
	// Namespace is the namespace of objects in From, and in To unless ToNamespace is set; default default.
	Namespace string `yaml:"namespace,omitempty"`
	// ToNamespace is the namespace of objects in To.
	ToNamespace string `yaml:"toNamespace,omitempty"`
	// Percent is the percentage of the packets for loss and corrupt, and of the connections or requests for others;
	// default 100.
	Percent int `yaml:"percent,omitempty"`

	// PodsFrom and PodsTo choose pods when the fault is injected, in place of From and To.
	PodsFrom *Pods `yaml:"-"`
	PodsTo   *Pods `yaml:"-"`
}

func (b *Between) check(c *checker) {
	b.Namespace = cmp.Or(b.Namespace, metav1.NamespaceDefault)
	for _, side := range []struct {
		field string
		list  []string
	}{{"from", b.From}, {"to", b.To}} {
		for _, text := range side.list {
			if _, err := ends.Parse(b.in(side.field), text); err != nil {
				c.problem(side.field, "%v", err)
			}
		}
	}
	if b.Percent < 0 || b.Percent > 100 {
		c.problem("percent", "is from 1 to 100: %d", b.Percent)
	}
}

// in returns the namespace of one of the fields.
func (b *Between) in(field string) string {
	if field == "to" {
		return cmp.Or(b.ToNamespace, b.Namespace)
	}
	return b.Namespace
}

// within returns the selection with another namespace in place of default.
func (b Between) within(namespace string) Between {
	if b.Namespace == metav1.NamespaceDefault {
		b.Namespace = namespace
	}
	if b.ToNamespace == metav1.NamespaceDefault {
		b.ToNamespace = namespace
	}
	return b
}

// selectsNothing reports whether no field selects ends, so that all connections are met.
func (b *Between) selectsNothing() bool {
	return len(b.From)+len(b.To) == 0 && b.PodsFrom == nil && b.PodsTo == nil
}

// title names the ends.
func (b *Between) title() string {
	one := func(list []string, pods *Pods) string {
		switch {
		case pods != nil:
			return fmt.Sprintf("%s of %s", &pods.Share, pods.which())
		case len(list) == 0, slices.Contains(list, ends.Everything):
			return "everything"
		}
		return strings.Join(list, ", ")
	}
	from, to := one(b.From, b.PodsFrom), one(b.To, b.PodsTo)
	if to == "everything" {
		return "of " + from
	}
	return "between " + from + " and " + to
}

// rule adds what the fields select to a rule of the network.
func (b *Between) rule(ctx context.Context, env *Env, r *faults.Rule) error {
	moved := *b
	if env.Namespace != "" {
		moved = b.within(env.Namespace)
	}
	var err error
	if r.From, err = moved.ends(ctx, env, "from", b.From, b.PodsFrom); err != nil {
		return err
	}
	r.To, err = moved.ends(ctx, env, "to", b.To, b.PodsTo)
	return err
}

func (b *Between) ends(ctx context.Context, env *Env, field string, texts []string, pods *Pods) (ends.Set, error) {
	var set ends.Set
	for _, text := range texts {
		e, err := ends.Parse(b.in(field), text)
		if err != nil {
			return nil, err
		}
		if err := exists(ctx, env, &e); err != nil {
			return nil, err
		}
		set = append(set, e)
	}
	if pods == nil {
		return set, nil
	}
	candidates, err := pods.matching(ctx, env)
	if err != nil {
		return nil, err
	}
	chosen, err := pick(candidates, &pods.Share, env.Random, pods.which(), podKey)
	if err != nil {
		return nil, err
	}
	for i := range chosen {
		e, err := ends.Parse(chosen[i].Namespace, "pod/"+chosen[i].Name)
		if err != nil {
			return nil, err
		}
		if field == "from" {
			env.hit(&chosen[i], "")
		}
		set = append(set, e)
	}
	return set, nil
}

// exists returns errNoMatch if an object that an End names, or all that its labels select, do not exist.
func exists(ctx context.Context, env *Env, e *ends.End) error {
	var err error
	switch core := env.Client.CoreV1(); e.Kind {
	case ends.Pod:
		_, err = core.Pods(e.Namespace).Get(ctx, e.Name, metav1.GetOptions{})
	case ends.Node:
		_, err = core.Nodes().Get(ctx, e.Name, metav1.GetOptions{})
	case ends.Namespace:
		_, err = core.Namespaces().Get(ctx, e.Name, metav1.GetOptions{})
	case ends.Service:
		if e.Namespace != metav1.NamespaceSystem || e.Name != "kube-dns" { // the name server may have no object
			_, err = core.Services(e.Namespace).Get(ctx, e.Name, metav1.GetOptions{})
		}
	case "Deployment":
		_, err = env.Client.AppsV1().Deployments(e.Namespace).Get(ctx, e.Name, metav1.GetOptions{})
	case "ReplicaSet":
		_, err = env.Client.AppsV1().ReplicaSets(e.Namespace).Get(ctx, e.Name, metav1.GetOptions{})
	case "StatefulSet":
		_, err = env.Client.AppsV1().StatefulSets(e.Namespace).Get(ctx, e.Name, metav1.GetOptions{})
	case "DaemonSet":
		_, err = env.Client.AppsV1().DaemonSets(e.Namespace).Get(ctx, e.Name, metav1.GetOptions{})
	case "Job":
		_, err = env.Client.BatchV1().Jobs(e.Namespace).Get(ctx, e.Name, metav1.GetOptions{})
	case ends.Zone:
		return existsZone(ctx, env, e.Name)
	case ends.Labels:
		list, err := core.Pods(e.Namespace).List(ctx, metav1.ListOptions{LabelSelector: e.Selector(), Limit: 1})
		if err == nil && len(list.Items) == 0 {
			return fmt.Errorf("%w: no pod of namespace %s has the labels %s", errNoMatch, e.Namespace, e)
		}
		return err
	}
	if ignoreNotFound(err) == nil && err != nil {
		return fmt.Errorf("%w: there is no %s%s", errNoMatch, e, map[bool]string{false: " in namespace " + e.Namespace}[e.Kind == ends.Node || e.Kind == ends.Namespace])
	}
	return err
}

// existsZone returns errNoMatch if no node is in a zone.
func existsZone(ctx context.Context, env *Env, zone string) error {
	list, err := env.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "topology.kubernetes.io/zone=" + zone, Limit: 1})
	if err == nil && len(list.Items) == 0 {
		return fmt.Errorf("%w: no node is in zone %s", errNoMatch, zone)
	}
	return err
}

// Network is a fault of the network inside the cluster. Connections of pods, nodes, the outside and the API server are met, and
// not the requests of controllers and clients to the API server. Kubelets are met by what loses all packets between their nodes and the
// end apiserver.
type Network struct {
	// Action is partition, delay, loss, corrupt, bandwidth or reset.
	Action  string `yaml:"action,omitempty"`
	Between `yaml:",inline"`
	// Direction is both (the default), to (packets from From to To only) or from (packets from To to From only).
	Direction string `yaml:"direction,omitempty"`
	// Delay is how much longer each packet takes.
	Delay Duration `yaml:"delay,omitempty"`
	// Spread is the upper bound of a random duration that is added to Delay.
	Spread Duration `yaml:"spread,omitempty"`
	// Rate is the bandwidth, such as 1mbit or 64kbit (bits a second), or 1mbps (bytes a second), as tc has it.
	Rate string `yaml:"rate,omitempty"`

	// Also are further effects on the same packets; of them, only what the action needs counts.
	Also []*Network `yaml:"-"`
}

func (n *Network) check(c *checker) {
	if why := hidden[n.Action]; why != "" {
		c.problem("action", "%s has no effect in the simulated network: %s", n.Action, why)
		return
	}
	c.row(n, n.Action)
	n.Between.check(c)
	if !slices.Contains([]faults.Direction{"", faults.Both, faults.To, faults.From}, faults.Direction(n.Direction)) {
		c.problem("direction", "%q is none of both, to, from", n.Direction)
	}
	switch n.Action {
	case NetworkPartition, NetworkReset:
		if n.selectsNothing() && n.Percent == 0 {
			c.problem("from", "is missing, and to too: say between which ends; from ['*'] is all connections")
		}
	case NetworkDelay:
		c.positive("delay", n.Delay+n.Spread)
		if n.Delay < 0 || n.Spread < 0 {
			c.problem("delay", "and spread must not be negative")
		}
	case NetworkLoss, NetworkCorrupt:
		if n.Percent == 0 {
			c.problem("percent", "is missing: say how many of 100 packets are lost")
		}
	case NetworkBandwidth:
		if _, err := ParseRate(n.Rate); err != nil {
			c.problem("rate", "%v", err)
		}
	}
}

func (n *Network) title() string {
	text := map[string]string{
		NetworkPartition: "cut the network " + n.Between.title(), NetworkDelay: fmt.Sprintf("delay the packets %s by %v", n.Between.title(), time.Duration(n.Delay)),
		NetworkLoss:    fmt.Sprintf("lose %d%% of the packets %s", n.Percent, n.Between.title()),
		NetworkCorrupt: fmt.Sprintf("damage %d%% of the packets %s", n.Percent, n.Between.title()), NetworkBandwidth: fmt.Sprintf("limit the network %s to %s", n.Between.title(), n.Rate),
		NetworkReset: "reset the connections " + n.Between.title() + shareOf(n.Percent),
	}[n.Action]
	if n.Action == NetworkDelay && n.Spread > 0 {
		text += fmt.Sprintf(" to %v", time.Duration(n.Delay+n.Spread))
	}
	if n.Direction != "" && n.Direction != string(faults.Both) {
		text += ", direction " + n.Direction
	}
	return text
}

func (n *Network) action() (Action, bool) { return find(networkActions, n.Action) }
func (n *Network) needs() Needs           { return Needs{} }

func (n *Network) inject(ctx context.Context, env *Env) (injected, error) {
	r := &faults.Rule{Title: n.title(), Direction: cmp.Or(faults.Direction(n.Direction), faults.Both), Percent: 100}
	for _, part := range append([]*Network{n}, n.Also...) {
		part.set(r)
	}
	if err := n.Between.rule(ctx, env, r); err != nil {
		return nil, err
	}
	return disturb(env, r), nil
}

// set sets what the action needs.
func (n *Network) set(r *faults.Rule) {
	switch n.Action {
	case NetworkPartition:
		r.Partition = true
	case NetworkDelay:
		r.Delay, r.Spread = time.Duration(n.Delay), time.Duration(n.Spread)
	case NetworkLoss, NetworkCorrupt:
		r.Loss = 100 - (100-r.Loss)*(100-n.Percent)/100
		r.Partition = r.Loss == 100
	case NetworkBandwidth:
		r.Rate, _ = ParseRate(n.Rate) // it was checked
	case NetworkReset:
		r.Reset, r.Percent = true, cmp.Or(n.Percent, 100)
	}
}

// disturb adds a rule to the cluster's network.
func disturb(env *Env, r *faults.Rule) injected {
	remove := env.Cluster.Kubelets().DisturbNetwork(r)
	env.note("%s", r.Title)
	return func(context.Context) error { remove(); return nil }
}
