package schedulertest

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SpreadOption changes a topology spread constraint.
type SpreadOption func(*corev1.TopologySpreadConstraint)

// SpreadBy adds a DoNotSchedule constraint over the pods with the label app=web.
func SpreadBy(topologyKey string, maxSkew int32, options ...SpreadOption) PodOption {
	c := corev1.TopologySpreadConstraint{
		MaxSkew: maxSkew, TopologyKey: topologyKey, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}
	for _, o := range options {
		o(&c)
	}
	return func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
	}
}

// Anyway makes a constraint a soft one.
func Anyway(c *corev1.TopologySpreadConstraint) { c.WhenUnsatisfiable = corev1.ScheduleAnyway }

// AtLeast sets minDomains.
func AtLeast(domains int32) SpreadOption {
	return func(c *corev1.TopologySpreadConstraint) { c.MinDomains = &domains }
}

// Zoned returns nodes a1, a2 and so on in zones a and b.
func Zoned(a, b int) []*corev1.Node {
	var nodes []*corev1.Node
	for zone, n := range map[string]int{"a": a, "b": b} {
		for i := range n {
			nodes = append(nodes, Node(fmt.Sprintf("%s%d", zone, i+1), NodeLabel(corev1.LabelTopologyZone, zone)))
		}
	}
	slices.SortFunc(nodes, func(x, y *corev1.Node) int { return slices.Compare([]byte(x.Name), []byte(y.Name)) })
	return nodes
}

// WebOn returns pods with the label app=web, one on each of the nodes named.
func WebOn(nodes ...string) []*corev1.Pod {
	var pods []*corev1.Pod
	for i, node := range nodes {
		pods = append(pods, Pod(fmt.Sprintf("web%d", i), OnNode(node), PodLabel("app", "web")))
	}
	return pods
}
