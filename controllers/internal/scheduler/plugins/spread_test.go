package plugins

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

// fittingOf returns the nodes that the pod may be on.
func fittingOf(in Input) []string {
	in.prepare()
	in.rules = in.newRules()
	var names []string
	for index, n := range in.Snapshot.Nodes() {
		if in.filter(index) == nil {
			names = append(names, n.Name())
		}
	}
	slices.Sort(names)
	return names
}

func TestHardSpread(t *testing.T) {
	const zone, host = corev1.LabelTopologyZone, corev1.LabelHostname
	web := st.PodLabel("app", "web")
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
		{name: "empty", nodes: st.Zoned(2, 1), pod: st.Pod("p", web, st.SpreadBy(zone, 1)), want: "[a1 a2 b1]"},
		{name: "the emptier zone", nodes: st.Zoned(2, 1), on: st.WebOn("a1"), pod: st.Pod("p", web, st.SpreadBy(zone, 1)), want: "[b1]"},
		{name: "a larger skew", nodes: st.Zoned(2, 1), on: st.WebOn("a1"), pod: st.Pod("p", web, st.SpreadBy(zone, 2)), want: "[a1 a2 b1]"},
		{name: "not counted itself", nodes: st.Zoned(2, 1), on: st.WebOn("a1"), pod: st.Pod("p", st.SpreadBy(zone, 1)), want: "[a1 a2 b1]"},
		{name: "both constraints", nodes: st.Zoned(2, 2), on: st.WebOn("a1", "b1", "b2"), pod: st.Pod("p", web, st.SpreadBy(zone, 1), st.SpreadBy(host, 1)), want: "[a2]"},
		{name: "no node meets both", nodes: st.Zoned(1, 2), on: st.WebOn("a1", "b1"), pod: st.Pod("p", web, st.SpreadBy(zone, 1), st.SpreadBy(host, 1)), want: "[b2]"},
		{name: "nodes without the key", nodes: append(st.Zoned(1, 1), st.Node("x")), pod: st.Pod("p", web, st.SpreadBy(zone, 1)), want: "[a1 b1]"},
		{name: "too few domains", nodes: st.Zoned(1, 1), on: st.WebOn("a1", "b1"), pod: st.Pod("p", web, st.SpreadBy(zone, 1, st.AtLeast(3))), want: "[]"},
		{name: "domains enough", nodes: st.Zoned(1, 1), on: st.WebOn("a1", "b1"), pod: st.Pod("p", web, st.SpreadBy(zone, 1, st.AtLeast(2))), want: "[a1 b1]"},
		{name: "zones out of reach do not count", nodes: st.Zoned(2, 1), on: st.WebOn("a1"), pod: st.Pod("p", web, st.SpreadBy(zone, 1), st.NodeSelector(zone, "a")), want: "[a1 a2]"},
		{name: "unless configured so", nodes: st.Zoned(2, 1), on: st.WebOn("a1"), pod: st.Pod("p", web, st.SpreadBy(zone, 1, ignoreAffinity), st.NodeSelector(zone, "a")), want: "[]"},
		{
			name: "tainted nodes count", nodes: append(st.Zoned(1, 0), st.Node("b1", st.NodeLabel(zone, "b"), st.Tainted("t", corev1.TaintEffectNoSchedule))),
			on: st.WebOn("a1"), pod: st.Pod("p", web, st.SpreadBy(zone, 1)), want: "[]",
		},
		{
			name: "unless configured otherwise", nodes: append(st.Zoned(1, 0), st.Node("b1", st.NodeLabel(zone, "b"), st.Tainted("t", corev1.TaintEffectNoSchedule))),
			on: st.WebOn("a1"), pod: st.Pod("p", web, st.SpreadBy(zone, 1, honorTaints)), want: "[a1]",
		},
		{
			name: "other namespaces, labels and terminating pods", nodes: st.Zoned(1, 1), pod: st.Pod("p", web, st.SpreadBy(zone, 1)), want: "[a1 b1]",
			on: []*corev1.Pod{
				st.Pod("x", st.OnNode("a1"), web, func(p *corev1.Pod) { p.Namespace = "other" }),
				st.Pod("y", st.OnNode("a1"), st.PodLabel("app", "db")),
				st.Pod("z", st.OnNode("a1"), web, st.BeingPreempted),
			},
		},
		{
			name: "no selector counts nothing", nodes: st.Zoned(1, 1), on: st.WebOn("a1"), want: "[a1 b1]",
			pod: st.Pod("p", web, st.SpreadBy(zone, 1, func(c *corev1.TopologySpreadConstraint) { c.LabelSelector = nil })),
		},
		{name: "soft ones forbid nothing", nodes: st.Zoned(1, 1), on: st.WebOn("a1", "a1"), pod: st.Pod("p", web, st.SpreadBy(zone, 1, st.Anyway)), want: "[a1 b1]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Pod: framework.NewPodInfo(tt.pod), Snapshot: framework.SnapshotOf(tt.nodes, tt.on), Pick: first}
			if got := fmt.Sprint(fittingOf(in)); got != tt.want {
				t.Errorf("may be on %s, want %s", got, tt.want)
			}
		})
	}
}

// An empty selector counts no pods on nodes, but it counts the pod itself, and the pods that are nominated to
// the node.
func TestHardSpreadOfAnEmptySelector(t *testing.T) {
	everyone := func(c *corev1.TopologySpreadConstraint) { c.LabelSelector = &metav1.LabelSelector{} }
	nominated := map[string][]*framework.PodInfo{"a1": {framework.NewPodInfo(st.Pod("n", st.Priority(9)))}}
	for _, tt := range []struct {
		name      string
		skew      int32
		nominated map[string][]*framework.PodInfo
		want      string
	}{
		{"on nodes", 1, nil, "[a1 b1]"},
		{"nominated", 1, nominated, "[b1]"},
		{"nominated, within the skew", 2, nominated, "[a1 b1]"},
		{"of another namespace", 1, map[string][]*framework.PodInfo{"a1": {framework.NewPodInfo(st.Pod("n", st.Priority(9), st.InNamespace("x")))}}, "[a1 b1]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{
				Pod: framework.NewPodInfo(st.Pod("p", st.SpreadBy(corev1.LabelTopologyZone, tt.skew, everyone))), Pick: first, Nominated: tt.nominated,
				Snapshot: framework.SnapshotOf(st.Zoned(1, 1), st.WebOn("a1", "a1", "a1")),
			}
			if got := fmt.Sprint(fittingOf(in)); got != tt.want {
				t.Errorf("may be on %s, want %s", got, tt.want)
			}
		})
	}
}

func TestSpreadScores(t *testing.T) {
	const zone, host = corev1.LabelTopologyZone, corev1.LabelHostname
	web := st.PodLabel("app", "web")
	siblings := framework.NewPodSet("default", labels.SelectorFromSet(labels.Set{"app": "web"}))
	tests := []struct {
		name     string
		nodes    []*corev1.Node
		on       []*corev1.Pod
		pod      *corev1.Pod
		siblings *framework.PodSet
		want     []int64 // without the weight
	}{
		{
			// ln(2+2) for each pod and 2 for a maxSkew of 3: 2*1.386+2 = 5 and 2.
			// 100*(5+2-5)/5 = 40.
			name: "default, without zones", nodes: st.Nodes(2), on: st.WebOn("node-0", "node-0"), pod: st.Pod("p", web), siblings: siblings, want: []int64{40, 100},
		},
		{
			// Hosts: ln(5) = 1.609 and 2; zones: ln(4) = 1.386 and 4. a1, b1, a2: 1.609+2+1.386+4 = 9,
			// 6, 2+1.386+4 = 7. 100*(15-9)/9 = 66, 100, 100*(15-7)/9 = 88.
			name: "default, with zones", nodes: st.Zoned(2, 1), on: st.WebOn("a1"), pod: st.Pod("p", web), siblings: siblings, want: []int64{66, 100, 88},
		},
		{name: "no pods to be spread from", nodes: st.Nodes(2), on: st.WebOn("node-0"), pod: st.Pod("p", web), want: []int64{0, 0}},
		{
			name: "its own constraints stand in for the default", nodes: st.Nodes(2), on: st.WebOn("node-0"), siblings: siblings,
			pod: st.Pod("p", web, st.SpreadBy(host, 1)), want: []int64{0, 0},
		},
		{
			// ln(4) = 1.386 rounded is 1, 0.
			name: "own, maxSkew 1", nodes: st.Nodes(2), on: st.WebOn("node-0"), pod: st.Pod("p", web, st.SpreadBy(host, 1, st.Anyway)), want: []int64{0, 100},
		},
		{name: "none anywhere", nodes: st.Nodes(2), pod: st.Pod("p", web, st.SpreadBy(host, 1, st.Anyway)), want: []int64{100, 100}},
		{
			// Of the two zones b has two: 1.386*2 = 3; a none.
			name: "nodes without the key get nothing", nodes: append(st.Zoned(1, 1), st.Node("x")), on: st.WebOn("b1", "b1", "x"),
			pod: st.Pod("p", web, st.SpreadBy(zone, 1, st.Anyway)), want: []int64{100, 0, 0},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Pod: framework.NewPodInfo(tt.pod), Snapshot: framework.SnapshotOf(tt.nodes, tt.on), Siblings: tt.siblings}
			in.prepare()
			got, normalize := scoreSpread(&in, indexes(in.Snapshot))
			if got == nil {
				got = make([]int64, in.Snapshot.Len())
			} else {
				normalize(got)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("scores %v, want %v", got, tt.want)
			}
		})
	}
}

// indexes returns all of a snapshot's.
func indexes(s *framework.Snapshot) []int {
	all := make([]int, s.Len())
	for i := range all {
		all[i] = i
	}
	return all
}
