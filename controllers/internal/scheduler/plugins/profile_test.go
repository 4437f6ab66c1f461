package plugins

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

func profile(t *testing.T, change func(s *ProfileSpec)) *Profile {
	t.Helper()
	spec := DefaultSpec()
	change(&spec)
	p, err := NewProfile(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func onlyScore(name string) []WeightedPlugin { return []WeightedPlugin{{name, 1}} }

func TestScoresOfProfiles(t *testing.T) {
	image := func(megabytes int64, names ...string) st.NodeOption {
		return func(n *corev1.Node) {
			n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: names, SizeBytes: megabytes << 20})
		}
	}
	two := []WeightedResource{{corev1.ResourceCPU, 3}, {"example.com/gpu", 1}}
	busy := []*corev1.Pod{st.Pod("o", st.OnNode("node-1"), st.Requests("cpu", "2", "memory", "4Gi"))}
	tests := []struct {
		name  string
		spec  func(s *ProfileSpec)
		nodes []*corev1.Node
		on    []*corev1.Pod
		pod   *corev1.Pod
		want  []int64
	}{
		{
			name: "most allocated", nodes: st.Nodes(2), on: busy, pod: st.Pod("p", st.Requests("cpu", "1", "memory", "2Gi")), want: []int64{25, 75},
			spec: func(s *ProfileSpec) {
				s.Scores, s.Fit.Kind = onlyScore(NodeResourcesFit), MostAllocated
			},
		},
		{
			name: "weights of resources", nodes: st.Nodes(2, st.Allocatable("example.com/gpu", "4")), pod: st.Pod("p", st.Requests("cpu", "1", "example.com/gpu", "2")), want: []int64{31, 31},
			spec: func(s *ProfileSpec) {
				s.Scores, s.Fit.Kind, s.Fit.Resources = onlyScore(NodeResourcesFit), MostAllocated, two
			},
		},
		{
			// Half of the CPUs, in the middle of 0 and 100.
			name: "requested to capacity ratio", nodes: st.Nodes(1), pod: st.Pod("p", st.Requests("cpu", "2", "memory", "8Gi")), want: []int64{75},
			spec: func(s *ProfileSpec) {
				s.Scores, s.Fit.Kind = onlyScore(NodeResourcesFit), RequestedToCapacityRatio
				s.Fit.Shape = []ShapePoint{{0, 0}, {100, 100}}
			},
		},
		{
			// 0.25, 0.25 and 0.5 are 0.118 apart from their mean, 88, after none: 50+(50+88-100)/2.
			name: "balance of three", nodes: st.Nodes(1, st.Allocatable("example.com/gpu", "4")), want: []int64{69},
			pod: st.Pod("p", st.Requests("cpu", "1", "memory", "2Gi", "example.com/gpu", "2")),
			spec: func(s *ProfileSpec) {
				s.Scores, s.Balanced = onlyScore(BalancedAllocation), []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, "example.com/gpu"}
			},
		},
		{
			// 512 MiB on one of two nodes count half: (256-23)/(1000-23).
			name: "image locality", nodes: []*corev1.Node{st.Node("a", image(512, "i:latest")), st.Node("b")}, pod: st.Pod("p"), want: []int64{23, 0},
			spec: func(s *ProfileSpec) { s.Scores = onlyScore(ImageLocality) },
		},
		{
			// Least allocated (75+97)/2 and (25+47)/2; balance 50+(50+87-100)/2 on both.
			name: "weights", nodes: st.Nodes(2), on: busy, pod: st.Pod("p", st.Requests("cpu", "1")), want: []int64{3*86 + 2*68, 3*36 + 2*68},
			spec: func(s *ProfileSpec) { s.Scores = []WeightedPlugin{{NodeResourcesFit, 3}, {BalancedAllocation, 2}} },
		},
		{
			name: "added preference", nodes: []*corev1.Node{st.Node("a", st.NodeLabel("disk", "ssd")), st.Node("b")}, pod: st.Pod("p"), want: []int64{100, 0},
			spec: func(s *ProfileSpec) {
				s.Scores = onlyScore(NodeAffinity)
				s.AddedAffinity = &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 5, Preference: corev1.NodeSelectorTerm{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpExists}},
				}}}}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := framework.SnapshotOf(tt.nodes, tt.on)
			in := Input{Pod: framework.NewPodInfo(tt.pod), Snapshot: s, Profile: profile(t, tt.spec)}
			in.prepare()
			if got := in.scores(indexes(s)); !slices.Equal(got, tt.want) {
				t.Errorf("scores %v, want %v", got, tt.want)
			}
			checkTraced(t, in, tt.want)
		})
	}
}

func TestFiltersOfProfiles(t *testing.T) {
	without := func(name string) func(s *ProfileSpec) {
		return func(s *ProfileSpec) {
			s.Filters = slices.DeleteFunc(s.Filters, func(f string) bool { return f == name })
		}
	}
	siblings := framework.NewPodSet("default", labels.SelectorFromSet(labels.Set{"app": "web"}))
	tests := []struct {
		name string
		spec func(s *ProfileSpec)
		node *corev1.Node
		pod  *corev1.Pod
		want string
	}{
		{name: "ignored resource", node: st.Node("n"), pod: st.Pod("p", st.Requests("example.com/gpu", "1")), spec: func(s *ProfileSpec) { s.IgnoredResources = []string{"example.com/gpu"} }},
		{name: "ignored group", node: st.Node("n"), pod: st.Pod("p", st.Requests("example.com/gpu", "1")), spec: func(s *ProfileSpec) { s.IgnoredGroups = []string{"example.com"} }},
		{name: "another resource", node: st.Node("n"), pod: st.Pod("p", st.Requests("example.com/gpu", "1")), spec: func(s *ProfileSpec) { s.IgnoredResources = []string{"example.com/tpu"} }, want: "0/1 nodes are available: 1 Insufficient example.com/gpu."},
		{name: "without taints", node: st.Node("n", st.Tainted("t", corev1.TaintEffectNoSchedule)), pod: st.Pod("p"), spec: without(TaintToleration)},
		{name: "without affinity to pods", node: st.Node("n"), pod: st.Pod("p", st.Requiring(st.Near(corev1.LabelHostname, "web"))), spec: without(InterPodAffinity)},
		{
			name: "added affinity", node: st.Node("n"), pod: st.Pod("p"), want: "0/1 nodes are available: 1 node(s) didn't match scheduler-enforced node affinity.",
			spec: func(s *ProfileSpec) {
				s.AddedAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpExists}},
				}}}}
			},
		},
		{
			name: "hard default constraints", node: st.Node("n"), pod: st.Pod("p"), want: "0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints (missing required label).",
			spec: func(s *ProfileSpec) {
				s.DefaultSpread = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule}}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Decide(Input{Pod: framework.NewPodInfo(tt.pod), Snapshot: framework.SnapshotOf([]*corev1.Node{tt.node}, nil), Profile: profile(t, tt.spec), Siblings: siblings, Pick: first})
			got := ""
			if d.Node == "" {
				got = d.Diagnosis.Message()
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestTrace(t *testing.T) {
	trace := &Trace{}
	nodes := append(st.Nodes(2), st.Node("x", st.Tainted("t", corev1.TaintEffectNoSchedule)))
	d := Decide(Input{Pod: framework.NewPodInfo(st.Pod("p", st.Requests("cpu", "1"))), Snapshot: framework.SnapshotOf(nodes, nil), Pick: first, Trace: trace})
	if d.Node != "node-0" || !slices.Equal(trace.Filters, []string{NodeUnschedulable, TaintToleration, NodeResourcesFit}) || len(trace.Nodes) != 3 {
		t.Errorf("node %q, trace %+v", d.Node, trace)
	}
	if rejected := trace.Nodes[2]; rejected.Node != "x" || rejected.Plugin != TaintToleration || len(rejected.Reasons) != 1 {
		t.Errorf("rejected %+v", rejected)
	}
	for _, s := range trace.Scores {
		if s.Plugin == NodeResourcesFit && (!slices.Equal(s.Raw, []int64{86, 86}) || !slices.Equal(s.Final, s.Raw)) || s.Plugin == TaintToleration && s.Final[0] != 300 {
			t.Errorf("scores %+v", s)
		}
	}
}
