package scheduler

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestScores(t *testing.T) {
	prefer := func(weights ...int32) podOption {
		var terms []corev1.PreferredSchedulingTerm
		for i, w := range weights {
			terms = append(terms, corev1.PreferredSchedulingTerm{Weight: w, Preference: corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: string(rune('a' + i)), Operator: corev1.NodeSelectorOpExists}},
			}})
		}
		return nodeAffinity(&corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms})
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
			name: "requests nothing", nodes: testNodes(2), pod: testPod("p"), want: []int64{97, 97},
		},
		{
			// node-0 counts 200m and 400Mi: (95+95)/2.
			name: "pods that request nothing spread", nodes: testNodes(2), on: []*corev1.Pod{testPod("o", onNode("node-0"))},
			pod: testPod("p"), want: []int64{95, 97},
		},
		{
			// Least allocated (50+75)/2 = 62 and (0+50)/2 = 25. Balanced: 2 of 4 and 2 of 8
			// are 0.125 apart from their mean, 87: 50+(50+87-100)/2 = 68; on node-1
			// 1 and .5 after .5 and .25: 50+(50+75-87)/2 = 69.
			name: "requests", nodes: testNodes(2), on: []*corev1.Pod{testPod("o", onNode("node-1"), requests("cpu", "2", "memory", "2Gi"))},
			pod: testPod("p", requests("cpu", "2", "memory", "2Gi")), want: []int64{62 + 68, 25 + 69},
		},
		{
			name: "node affinity", pod: testPod("p", prefer(10, 30)), want: []int64{97 + 2*33, 97 + 2*100, 97},
			nodes: []*corev1.Node{testNode("x", nodeLabel("a", "")), testNode("y", nodeLabel("b", "")), testNode("z")},
		},
		{
			name: "node affinity that no node has", pod: testPod("p", prefer(10)), want: []int64{97, 97}, nodes: testNodes(2),
		},
		{
			name: "soft taints", pod: testPod("p", tolerating("t", corev1.TaintEffectPreferNoSchedule)),
			nodes: []*corev1.Node{
				testNode("x"), testNode("y", tainted("t", corev1.TaintEffectPreferNoSchedule)),
				testNode("z", tainted("u", corev1.TaintEffectPreferNoSchedule)),
				testNode("w", tainted("u", corev1.TaintEffectPreferNoSchedule), tainted("v", corev1.TaintEffectPreferNoSchedule)),
			},
			want: []int64{97 + 300, 97 + 300, 97 + 150, 97},
		},
		{
			name: "no capacity known", nodes: []*corev1.Node{testNode("x", allocatable("cpu", "0", "memory", "0"))}, pod: testPod("p"), want: []int64{0},
		},
		{
			name: "one capacity known", nodes: []*corev1.Node{testNode("x", allocatable("cpu", "0"))}, pod: testPod("p"), want: []int64{97},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := snapshotOf(tt.nodes, tt.on...)
			in := Input{Pod: NewPodInfo(tt.pod), Snapshot: s}
			if got := in.scores(places(s)); !slices.Equal(got, tt.want) {
				t.Errorf("scores %v, want %v", got, tt.want)
			}
		})
	}
}
