package capacity

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"minikcm.dev/minikcm/internal/spell"
	"minikcm.dev/minikcm/kubeletsim"
)

// NodeSelector selects nodes by name, zone, pool or label selector.
type NodeSelector struct {
	Name, Zone, Pool string
	Labels           string
}

func (s NodeSelector) String() string {
	switch {
	case s.Zone != "":
		return "zone " + s.Zone
	case s.Pool != "":
		return "pool " + s.Pool
	case s.Labels != "":
		return s.Labels
	}
	return s.Name
}

func selected(all []NodeSelector) string {
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = s.String()
	}
	return strings.Join(texts, " ")
}

// poolLabels are the labels in which providers and tools name the pool of a node.
var poolLabels = []string{
	"cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup", "alpha.eksctl.io/nodegroup-name", "kubernetes.azure.com/agentpool", "agentpool",
	"karpenter.sh/nodepool", "kops.k8s.io/instancegroup", "doks.digitalocean.com/node-pool", "oke.oraclecloud.com/pool.name", "node.cluster.x-k8s.io/pool",
	"minikcm.dev/pool", "nodepool", "node-pool", "pool",
}

// isSelector reports whether a word is a label selector: names of nodes have none of these characters.
func isSelector(word string) bool { return strings.ContainsAny(word, "=!(") }

// isSetSelector reports whether an argument has a requirement of a set.
func isSetSelector(word string) bool {
	return strings.Contains(word, "(") && (strings.Contains(word, " in ") || strings.Contains(word, " notin ") || strings.Contains(word, " in(") || strings.Contains(word, " notin("))
}

// parseNodes parses names of nodes, label selectors, "zone NAME..." and "pool NAME...".
func parseNodes(verb Verb, words []string) ([]NodeSelector, error) {
	var all []NodeSelector
	of := ""
	for i, word := range words {
		switch {
		case i == 0 && (word == "zone" || word == "pool"):
			of = word
		case of == "zone":
			all = append(all, NodeSelector{Zone: word})
		case of == "pool":
			all = append(all, NodeSelector{Pool: word})
		case isSelector(word):
			if _, err := labels.Parse(word); err != nil {
				return nil, fmt.Errorf("%s %s: it is not a label selector: %w", verb, word, err)
			}
			all = append(all, NodeSelector{Labels: word})
		default:
			all = append(all, NodeSelector{Name: strings.TrimPrefix(word, "node/")})
		}
	}
	switch {
	case len(all) > 0:
		return all, nil
	case of != "":
		return nil, fmt.Errorf("%s %s needs the name of a %s, such as %s %s a", verb, of, of, verb, of)
	}
	return nil, fmt.Errorf("%s needs nodes: their names, a label selector, or the name of a zone or pool, such as %s node-1, %s pool=data or %s zone a", verb, verb, verb, verb)
}

// find returns the names of the selected nodes, sorted by their order in nodes. It returns an InputError
// if one of the selectors selects none.
func find(all []NodeSelector, nodes []corev1.Node) ([]string, error) {
	chosen := map[string]bool{}
	for _, s := range all {
		match, err := s.matcher(nodes)
		if err != nil {
			return nil, err
		}
		found := false
		for i := range nodes {
			if match(&nodes[i]) {
				chosen[nodes[i].Name], found = true, true
			}
		}
		if !found {
			return nil, s.selectsNone(nodes)
		}
	}
	var names []string
	for _, s := range all { // named nodes are drained in the order of the question
		if s.Name != "" && !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	for i := range nodes {
		if name := nodes[i].Name; chosen[name] && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// matcher returns which nodes are selected. A pool without a label of its name are the nodes whose names
// are the pool's with a number.
func (s NodeSelector) matcher(nodes []corev1.Node) (func(*corev1.Node) bool, error) {
	switch {
	case s.Zone != "":
		return func(n *corev1.Node) bool { return zoneOf(n) == s.Zone }, nil
	case s.Pool != "":
		labelled := func(n *corev1.Node) bool { return poolOf(n) == s.Pool }
		if slices.ContainsFunc(nodes, func(n corev1.Node) bool { return labelled(&n) }) {
			return labelled, nil
		}
		return func(n *corev1.Node) bool { return numbered(n.Name) == s.Pool }, nil
	case s.Labels != "":
		selector, err := labels.Parse(s.Labels)
		if err != nil {
			return nil, InputError{err}
		}
		return func(n *corev1.Node) bool { return selector.Matches(labels.Set(n.Labels)) }, nil
	}
	return func(n *corev1.Node) bool { return n.Name == s.Name }, nil
}

func zoneOf(n *corev1.Node) string {
	if zone := n.Labels[corev1.LabelTopologyZone]; zone != "" {
		return zone
	}
	return n.Labels[corev1.LabelFailureDomainBetaZone]
}

// poolOf returns the name of a node's pool; empty: no label names it.
func poolOf(n *corev1.Node) string {
	for _, label := range poolLabels {
		if name := n.Labels[label]; name != "" {
			return name
		}
	}
	return ""
}

// numbered returns a name without the number at its end; empty: it has none.
func numbered(name string) string {
	pool, _ := kubeletsim.PoolOf(name)
	return pool
}

// Zones returns the zones of nodes, sorted.
func Zones(nodes []corev1.Node) []string {
	return namesOf(nodes, func(n *corev1.Node) []string { return []string{zoneOf(n)} })
}

// Pools returns the pools of nodes, sorted: the values of the pool labels, and the names of nodes without their numbers.
func Pools(nodes []corev1.Node) []string {
	return namesOf(nodes, func(n *corev1.Node) []string { return []string{poolOf(n), numbered(n.Name)} })
}

func namesOf(nodes []corev1.Node, of func(*corev1.Node) []string) []string {
	var names []string
	for i := range nodes {
		names = append(names, of(&nodes[i])...)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// selectsNone returns the error for a selector without nodes, with the names that there are.
func (s NodeSelector) selectsNone(nodes []corev1.Node) error {
	known := Pools(nodes)
	if s.Zone != "" {
		known = Zones(nodes)
	}
	switch {
	case s.Labels != "":
		return input("no node has the labels %s", s.Labels)
	case s.Zone == "" && s.Pool == "":
		return input("node %s does not exist", s.Name)
	case len(known) == 0:
		return input("no node is in %s: no node states one", s)
	}
	if near := spell.Nearest(s.Zone+s.Pool, known); near != "" {
		return input("no node is in %s; did you mean %s?", s, near)
	}
	return input("no node is in %s; there are %s", s, strings.Join(known, ", "))
}
