package plugins

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

func TestPreemptBudgets(t *testing.T) {
	on := func(node, name, cpu string, options ...st.PodOption) *corev1.Pod {
		return st.Pod(name, append(options, st.OnNode(node), st.Requests("cpu", cpu))...)
	}
	covered := st.PodLabel("app", "a")
	budget := func(allowed int32, options ...func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
		b.Status.DisruptionsAllowed = allowed
		for _, o := range options {
			o(b)
		}
		return b
	}
	selecting := func(s *metav1.LabelSelector) func(*policyv1.PodDisruptionBudget) {
		return func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = s }
	}
	tests := []struct {
		name       string
		on         []*corev1.Pod
		budget     *policyv1.PodDisruptionBudget
		cpu        string
		node       string
		victims    string
		violations int
	}{
		{
			name: "the node without violations", budget: budget(0), cpu: "4", node: "node-1", victims: "b c ",
			on: []*corev1.Pod{on("node-0", "a", "4", covered), on("node-1", "b", "2", st.Priority(5)), on("node-1", "c", "2")},
		},
		{
			name: "covered pods are spared first", budget: budget(0), cpu: "2", node: "node-0", victims: "b ",
			on: []*corev1.Pod{on("node-0", "a", "2", covered), on("node-0", "b", "2", st.Started(1)), on("node-1", "x", "4", st.Priority(50))},
		},
		{
			name: "no other way", budget: budget(0), cpu: "4", node: "node-0", victims: "a ", violations: 1,
			on: []*corev1.Pod{on("node-0", "a", "4", covered), on("node-1", "x", "4", st.Priority(50))},
		},
		{
			name: "the fewest violations", budget: budget(0), cpu: "4", node: "node-1", victims: "c d ", violations: 1,
			on: []*corev1.Pod{on("node-0", "a", "2", covered), on("node-0", "b", "2", covered), on("node-1", "c", "2", st.Started(1)), on("node-1", "d", "2", covered)},
		},
		{
			name: "as many as are allowed", budget: budget(1), cpu: "4", node: "node-0", victims: "b a ", violations: 1,
			on: []*corev1.Pod{on("node-0", "a", "2", covered), on("node-0", "b", "2", covered), on("node-1", "x", "4", st.Priority(50))},
		},
		{
			name: "an eviction that was granted is not counted twice", cpu: "4", node: "node-0", victims: "a ",
			budget: budget(0, func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptedPods = map[string]metav1.Time{"a": {}} }),
			on:     []*corev1.Pod{on("node-0", "a", "4", covered), on("node-1", "x", "4", st.Priority(50))},
		},
		{
			name: "an empty selector covers none", budget: budget(0, selecting(&metav1.LabelSelector{})), cpu: "4", node: "node-0", victims: "a ",
			on: []*corev1.Pod{on("node-0", "a", "4", covered), on("node-1", "x", "4", st.Priority(50))},
		},
		{
			name: "nor does none", budget: budget(0, selecting(nil)), cpu: "4", node: "node-0", victims: "a ",
			on: []*corev1.Pod{on("node-0", "a", "4", covered), on("node-1", "x", "4", st.Priority(50))},
		},
		{
			name: "pods without labels are covered by none", cpu: "4", node: "node-0", victims: "a ",
			budget: budget(0, selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpDoesNotExist}}})),
			on:     []*corev1.Pod{on("node-0", "a", "4"), on("node-1", "x", "4", st.Priority(50))},
		},
		{
			name: "of another namespace", budget: budget(0, func(b *policyv1.PodDisruptionBudget) { b.Namespace = "other" }), cpu: "4", node: "node-0", victims: "a ",
			on: []*corev1.Pod{on("node-0", "a", "4", covered), on("node-1", "x", "4", st.Priority(50))},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, victims := preemptSparing(tt.budget, tt.cpu, tt.on)
			if p.Node != tt.node || victims != tt.victims || p.Violations != tt.violations {
				t.Errorf("got %q %q, %d violations (%s), want %q %q %d", p.Node, victims, p.Violations, p.Message, tt.node, tt.victims, tt.violations)
			}
		})
	}
}

// preemptSparing preempts on two nodes for a pod of priority 10, and returns the names of the victims.
func preemptSparing(budget *policyv1.PodDisruptionBudget, cpu string, on []*corev1.Pod) (p Preemption, victims string) {
	in := Input{
		Pod: framework.NewPodInfo(st.Pod("p", st.Requests("cpu", cpu), st.Priority(10))), Snapshot: framework.SnapshotOf(st.Nodes(2), on), Pick: first,
		Budgets: func() []*policyv1.PodDisruptionBudget { return []*policyv1.PodDisruptionBudget{budget} },
	}
	p = Preempt(in, Decide(in).Diagnosis)
	for _, v := range p.Victims {
		victims += v.Pod.Name + " "
	}
	return p, victims
}
