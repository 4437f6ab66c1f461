package plugins

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

func TestScores(t *testing.T) {
	prefer := func(weights ...int32) st.PodOption {
		var terms []corev1.PreferredSchedulingTerm
		for i, w := range weights {
			terms = append(terms, corev1.PreferredSchedulingTerm{Weight: w, Preference: corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: string(rune('a' + i)), Operator: corev1.NodeSelectorOpExists}},
			}})
		}
		return st.NodeAffinity(&corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms})
	}
	tests := []struct {
		name  string
		nodes []*corev1.Node
		on    []*corev1.Pod
		pod   *corev1.Pod
		want  []int64
	}{
		{
			// 100m of 4 and 200Mi of 8Gi: (97+97)/2 each, no balance.
			name: "requests nothing", nodes: st.Nodes(2), pod: st.Pod("p"), want: []int64{97, 97},
		},
		{
			// node-0 counts 200m and 400Mi: (95+95)/2.
			name: "pods that request nothing spread", nodes: st.Nodes(2), on: []*corev1.Pod{st.Pod("o", st.OnNode("node-0"))},
			pod: st.Pod("p"), want: []int64{95, 97},
		},
		{
			// Least allocated (50+75)/2 = 62 and (0+50)/2 = 25. Balanced: 2 of 4 and 2 of 8
			// are 0.125 apart from their mean, 87: 50+(50+87-100)/2 = 68; on node-1
			// 1 and .5 after .5 and .25: 50+(50+75-87)/2 = 69.
			name: "requests", nodes: st.Nodes(2), on: []*corev1.Pod{st.Pod("o", st.OnNode("node-1"), st.Requests("cpu", "2", "memory", "2Gi"))},
			pod: st.Pod("p", st.Requests("cpu", "2", "memory", "2Gi")), want: []int64{62 + 68, 25 + 69},
		},
		{
			name: "node affinity", pod: st.Pod("p", prefer(10, 30)), want: []int64{97 + 2*33, 97 + 2*100, 97},
			nodes: []*corev1.Node{st.Node("x", st.NodeLabel("a", "")), st.Node("y", st.NodeLabel("b", "")), st.Node("z")},
		},
		{
			name: "node affinity that no node has", pod: st.Pod("p", prefer(10)), want: []int64{97, 97}, nodes: st.Nodes(2),
		},
		{
			name: "soft taints", pod: st.Pod("p", st.Tolerating("t", corev1.TaintEffectPreferNoSchedule)),
			nodes: []*corev1.Node{
				st.Node("x"), st.Node("y", st.Tainted("t", corev1.TaintEffectPreferNoSchedule)),
				st.Node("z", st.Tainted("u", corev1.TaintEffectPreferNoSchedule)),
				st.Node("w", st.Tainted("u", corev1.TaintEffectPreferNoSchedule), st.Tainted("v", corev1.TaintEffectPreferNoSchedule)),
			},
			want: []int64{97 + 300, 97 + 300, 97 + 150, 97},
		},
		{
			name: "no capacity known", nodes: []*corev1.Node{st.Node("x", st.Allocatable("cpu", "0", "memory", "0"))}, pod: st.Pod("p"), want: []int64{0},
		},
		{
			name: "one capacity known", nodes: []*corev1.Node{st.Node("x", st.Allocatable("cpu", "0"))}, pod: st.Pod("p"), want: []int64{97},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := framework.SnapshotOf(tt.nodes, tt.on)
			in := Input{Pod: framework.NewPodInfo(tt.pod), Snapshot: s}
			in.prepare()
			if got := in.scores(indexes(s)); !slices.Equal(got, tt.want) {
				t.Errorf("scores %v, want %v", got, tt.want)
			}
			checkTraced(t, in, tt.want)
		})
	}
}

// checkTraced checks that a traced decision, which asks every plugin on its own, has the same scores,
// up to a constant that is the same for all nodes.
func checkTraced(t *testing.T, in Input, want []int64) {
	t.Helper()
	in.Trace, in.scratch = &Trace{}, nil
	got := in.scores(indexes(in.Snapshot))
	for i := range got {
		if got[i]-got[0] != want[i]-want[0] {
			t.Errorf("traced scores %v, want those of %v, up to a constant", got, want)
			return
		}
	}
	sums := make([]int64, len(got))
	for _, plugin := range in.Trace.Scores {
		for i, score := range plugin.Final {
			sums[i] += score
		}
	}
	if !slices.Equal(sums, got) {
		t.Errorf("the traced scores %v add up to %v, want %v", in.Trace.Scores, sums, got)
	}
}
