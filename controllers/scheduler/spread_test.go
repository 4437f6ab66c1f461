package scheduler

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

type spreadOption func(*corev1.TopologySpreadConstraint)

// spreadBy adds a DoNotSchedule constraint over the pods with the label app=web.
func spreadBy(topologyKey string, maxSkew int32, options ...spreadOption) podOption {
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

func anyway(c *corev1.TopologySpreadConstraint) { c.WhenUnsatisfiable = corev1.ScheduleAnyway }

func atLeast(domains int32) spreadOption {
	return func(c *corev1.TopologySpreadConstraint) { c.MinDomains = &domains }
}

// zoned returns nodes a1, a2 and so on in zones a and b.
func zoned(a, b int) []*corev1.Node {
	var nodes []*corev1.Node
	for zone, n := range map[string]int{"a": a, "b": b} {
		for i := range n {
			nodes = append(nodes, testNode(fmt.Sprintf("%s%d", zone, i+1), nodeLabel(corev1.LabelTopologyZone, zone)))
		}
	}
	slices.SortFunc(nodes, func(x, y *corev1.Node) int { return slices.Compare([]byte(x.Name), []byte(y.Name)) })
	return nodes
}

// webOn returns pods with the label app=web, one on each of the nodes named.
func webOn(nodes ...string) []*corev1.Pod {
	var pods []*corev1.Pod
	for i, node := range nodes {
		pods = append(pods, testPod(fmt.Sprintf("web%d", i), onNode(node), podLabel("app", "web")))
	}
	return pods
}

// fittingOf returns the nodes that the pod may be on.
func fittingOf(in Input) []string {
	in.rules = in.newRules()
	var names []string
	for place, n := range in.Snapshot.nodes {
		if in.filter(place) == nil {
			names = append(names, n.Name())
		}
	}
	slices.Sort(names)
	return names
}

func TestHardSpread(t *testing.T) {
	const zone, host = corev1.LabelTopologyZone, corev1.LabelHostname
	web := podLabel("app", "web")
	honorTaints := func(c *corev1.TopologySpreadConstraint) { c.NodeTaintsPolicy = ptr.To(corev1.NodeInclusionPolicyHonor) }
	ignoreAffinity := func(c *corev1.TopologySpreadConstraint) {
		c.NodeAffinityPolicy = ptr.To(corev1.NodeInclusionPolicyIgnore)
	}
	tests := []struct {
		name  string
		nodes []*corev1.Node
		on    []*corev1.Pod
		pod   *corev1.Pod
		want  string
	}{
		{name: "empty", nodes: zoned(2, 1), pod: testPod("p", web, spreadBy(zone, 1)), want: "[a1 a2 b1]"},
		{name: "the emptier zone", nodes: zoned(2, 1), on: webOn("a1"), pod: testPod("p", web, spreadBy(zone, 1)), want: "[b1]"},
		{name: "a larger skew", nodes: zoned(2, 1), on: webOn("a1"), pod: testPod("p", web, spreadBy(zone, 2)), want: "[a1 a2 b1]"},
		{name: "not counted itself", nodes: zoned(2, 1), on: webOn("a1"), pod: testPod("p", spreadBy(zone, 1)), want: "[a1 a2 b1]"},
		{name: "both constraints", nodes: zoned(2, 2), on: webOn("a1", "b1", "b2"), pod: testPod("p", web, spreadBy(zone, 1), spreadBy(host, 1)), want: "[a2]"},
		{name: "no node meets both", nodes: zoned(1, 2), on: webOn("a1", "b1"), pod: testPod("p", web, spreadBy(zone, 1), spreadBy(host, 1)), want: "[b2]"},
		{name: "nodes without the key", nodes: append(zoned(1, 1), testNode("x")), pod: testPod("p", web, spreadBy(zone, 1)), want: "[a1 b1]"},
		{name: "too few domains", nodes: zoned(1, 1), on: webOn("a1", "b1"), pod: testPod("p", web, spreadBy(zone, 1, atLeast(3))), want: "[]"},
		{name: "domains enough", nodes: zoned(1, 1), on: webOn("a1", "b1"), pod: testPod("p", web, spreadBy(zone, 1, atLeast(2))), want: "[a1 b1]"},
		{name: "zones out of reach do not count", nodes: zoned(2, 1), on: webOn("a1"), pod: testPod("p", web, spreadBy(zone, 1), selector(zone, "a")), want: "[a1 a2]"},
		{name: "unless told so", nodes: zoned(2, 1), on: webOn("a1"), pod: testPod("p", web, spreadBy(zone, 1, ignoreAffinity), selector(zone, "a")), want: "[]"},
		{
			name: "tainted nodes count", nodes: append(zoned(1, 0), testNode("b1", nodeLabel(zone, "b"), tainted("t", corev1.TaintEffectNoSchedule))),
			on: webOn("a1"), pod: testPod("p", web, spreadBy(zone, 1)), want: "[]",
		},
		{
			name: "unless told otherwise", nodes: append(zoned(1, 0), testNode("b1", nodeLabel(zone, "b"), tainted("t", corev1.TaintEffectNoSchedule))),
			on: webOn("a1"), pod: testPod("p", web, spreadBy(zone, 1, honorTaints)), want: "[a1]",
		},
		{
			name: "other namespaces, labels and terminating pods", nodes: zoned(1, 1), pod: testPod("p", web, spreadBy(zone, 1)), want: "[a1 b1]",
			on: []*corev1.Pod{
				testPod("x", onNode("a1"), web, func(p *corev1.Pod) { p.Namespace = "other" }),
				testPod("y", onNode("a1"), podLabel("app", "db")),
				testPod("z", onNode("a1"), web, beingPreempted),
			},
		},
		{
			name: "no selector counts nothing", nodes: zoned(1, 1), on: webOn("a1"), want: "[a1 b1]",
			pod: testPod("p", web, spreadBy(zone, 1, func(c *corev1.TopologySpreadConstraint) { c.LabelSelector = nil })),
		},
		{name: "soft ones forbid nothing", nodes: zoned(1, 1), on: webOn("a1", "a1"), pod: testPod("p", web, spreadBy(zone, 1, anyway)), want: "[a1 b1]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Pod: NewPodInfo(tt.pod), Snapshot: snapshotOf(tt.nodes, tt.on...), Pick: first}
			if got := fmt.Sprint(fittingOf(in)); got != tt.want {
				t.Errorf("may be on %s, want %s", got, tt.want)
			}
		})
	}
}

func TestSpreadScores(t *testing.T) {
	const zone, host = corev1.LabelTopologyZone, corev1.LabelHostname
	web := podLabel("app", "web")
	siblings := NewPodSet("default", labels.SelectorFromSet(labels.Set{"app": "web"}))
	tests := []struct {
		name     string
		nodes    []*corev1.Node
		on       []*corev1.Pod
		pod      *corev1.Pod
		siblings *PodSet
		want     []int64 // without the weight
	}{
		{
			// ln(2+2) for each pod and 2 for a maxSkew of 3: 2*1.386+2 = 5 and 2.
			// 100*(5+2-5)/5 = 40.
			name: "default, without zones", nodes: testNodes(2), on: webOn("node-0", "node-0"), pod: testPod("p", web), siblings: siblings, want: []int64{40, 100},
		},
		{
			// Hosts: ln(5) = 1.609 and 2; zones: ln(4) = 1.386 and 4. a1, b1, a2: 1.609+2+1.386+4 = 9,
			// 6, 2+1.386+4 = 7. 100*(15-9)/9 = 66, 100, 100*(15-7)/9 = 88.
			name: "default, with zones", nodes: zoned(2, 1), on: webOn("a1"), pod: testPod("p", web), siblings: siblings, want: []int64{66, 100, 88},
		},
		{name: "nobody to be spread from", nodes: testNodes(2), on: webOn("node-0"), pod: testPod("p", web), want: []int64{0, 0}},
		{
			name: "its own constraints stand in for the default", nodes: testNodes(2), on: webOn("node-0"), siblings: siblings,
			pod: testPod("p", web, spreadBy(host, 1)), want: []int64{0, 0},
		},
		{
			// ln(4) = 1.386 rounded is 1, 0.
			name: "own, maxSkew 1", nodes: testNodes(2), on: webOn("node-0"), pod: testPod("p", web, spreadBy(host, 1, anyway)), want: []int64{0, 100},
		},
		{name: "none anywhere", nodes: testNodes(2), pod: testPod("p", web, spreadBy(host, 1, anyway)), want: []int64{100, 100}},
		{
			// Of the two zones b has two: 1.386*2 = 3; a none.
			name: "nodes without the key get nothing", nodes: append(zoned(1, 1), testNode("x")), on: webOn("b1", "b1", "x"),
			pod: testPod("p", web, spreadBy(zone, 1, anyway)), want: []int64{100, 0, 0},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Pod: NewPodInfo(tt.pod), Snapshot: snapshotOf(tt.nodes, tt.on...), Siblings: tt.siblings}
			got := make([]int64, len(tt.nodes))
			in.addSpread(got, places(in.Snapshot))
			for i := range got {
				got[i] /= weightSpread
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("scores %v, want %v", got, tt.want)
			}
		})
	}
}

// places returns all of a snapshot's.
func places(s *Snapshot) []int {
	all := make([]int, s.Len())
	for i := range all {
		all[i] = i
	}
	return all
}
