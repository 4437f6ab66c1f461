package explain

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

func asking(p *corev1.Pod) { p.Annotations = map[string]string{Asked: "true"} }

// decide returns the annotations about a decision, and about a preemption if there is no node.
func decide(t *testing.T, pod *corev1.Pod, nodes []*corev1.Node, on ...*corev1.Pod) map[string]string {
	t.Helper()
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "covered"}}
	in := plugins.Input{
		Pod: framework.NewPodInfo(pod), Snapshot: framework.SnapshotOf(nodes, on), Pick: func(int) int { return 0 }, Trace: Trace(pod),
		Budgets: func() []*policyv1.PodDisruptionBudget { return []*policyv1.PodDisruptionBudget{budget} },
	}
	if in.Trace == nil {
		t.Fatal("the decision is not recorded")
	}
	d := plugins.Decide(in)
	if d.Node != "" {
		return Annotations(in.Trace, Result{Node: d.Node, Total: len(nodes)})
	}
	p := plugins.Preempt(in, d.Diagnosis)
	d.Diagnosis.Preemption = p.Message
	return Annotations(in.Trace, Result{Total: len(nodes), Message: d.Diagnosis.Message(), Preemption: &p})
}

func printed(t *testing.T, annotations map[string]string) string {
	t.Helper()
	var b strings.Builder
	if err := Print(&b, annotations); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestNotAsked(t *testing.T) {
	if Trace(st.Pod("p")) != nil || Trace(st.Pod("p", asking, func(p *corev1.Pod) { p.Annotations["x"] = strings.Repeat("x", maxOthers) })) != nil {
		t.Error("the decision is recorded")
	}
	if got := printed(t, map[string]string{Asked: "true"}); got != "" {
		t.Errorf("printed %q", got)
	}
}

func TestScored(t *testing.T) {
	annotations := decide(t, st.Pod("p", asking, st.Requests("cpu", "1")), append(st.Nodes(2), st.Node("x", st.Tainted("t", corev1.TaintEffectNoSchedule))),
		st.Pod("o", st.OnNode("node-0"), st.Requests("cpu", "1")))
	want := map[string]string{
		Selected: "node-1",
		Filters: `{"node-0":{"NodeResourcesFit":"passed","NodeUnschedulable":"passed","TaintToleration":"passed"},` +
			`"node-1":{"NodeResourcesFit":"passed","NodeUnschedulable":"passed","TaintToleration":"passed"},` +
			`"x":{"NodeUnschedulable":"passed","TaintToleration":"node(s) had untolerated taint(s)"}}`,
		Decided: `{"nodes":3,"shown":3,"total":3}`,
	}
	for name, value := range want {
		if annotations[name] != value {
			t.Errorf("%s: %s, want %s", name, annotations[name], value)
		}
	}
	text := printed(t, annotations)
	for _, part := range []string{"Scheduling: node-1 was chosen (3 of 3 nodes tried)\n  node-1*  score ", "NodeResourcesFit 86 (raw 86)", "TaintToleration 300 (raw 0)", "x        TaintToleration: node(s) had untolerated taint(s)\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}

func TestPreempted(t *testing.T) {
	annotations := decide(t, st.Pod("p", asking, st.Requests("cpu", "4"), st.Priority(9)), st.Nodes(2),
		st.Pod("a", st.OnNode("node-0"), st.Requests("cpu", "4"), st.PodLabel("app", "covered")), st.Pod("b", st.OnNode("node-1"), st.Requests("cpu", "4"), st.Priority(5)))
	if want := `{"node-1":{"DefaultPreemption":"preemption victim"}}`; annotations[PostFilters] != want || annotations[Selected] != "" {
		t.Errorf("%s, selected %q", annotations[PostFilters], annotations[Selected])
	}
	want := `
Scheduling: 0/2 nodes are available: 2 Insufficient cpu (2 of 2 nodes tried)
  node-0  NodeResourcesFit: Insufficient cpu
  node-1  NodeResourcesFit: Insufficient cpu
  Preemption frees node-1, because of the fewest violations of PodDisruptionBudgets:
    node-1: deletes default/b; 0 violate a PodDisruptionBudget
    node-0: would delete default/a; 1 violate a PodDisruptionBudget
`
	if got := printed(t, annotations); got != want {
		t.Errorf("%s\nwant%s", got, want)
	}
}

func TestGroupPreempted(t *testing.T) {
	pod := st.Pod("p", asking, st.Requests("cpu", "4"), st.Priority(9))
	in := plugins.Input{Pod: framework.NewPodInfo(pod), Snapshot: framework.SnapshotOf(st.Nodes(1), []*corev1.Pod{st.Pod("a", st.OnNode("node-0"), st.Requests("cpu", "4"))}), Trace: Trace(pod)}
	d := plugins.Decide(in)
	group := &plugins.GroupPreemption{Violations: 1}
	for i := range maxVictims + 2 {
		group.Victims = append(group.Victims, framework.NewPodInfo(st.Pod(fmt.Sprint("v", i))))
	}
	annotations := Annotations(in.Trace, Result{Total: 1, Message: d.Diagnosis.Message(), Group: group, Nominated: "node-0"})
	if want := `{"node-0":{"DefaultPreemption":"preemption victim"}}`; annotations[PostFilters] != want {
		t.Errorf("%s, want %s", annotations[PostFilters], want)
	}
	want := "  Preemption for the pod's PodGroup deletes default/v0, default/v1, "
	text := printed(t, annotations)
	for _, part := range []string{want, ", default/v19 and 2 more pods; 1 violate a PodDisruptionBudget\n    the pod is nominated to node-0\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
	if text := printed(t, Annotations(in.Trace, Result{Total: 1, Group: &plugins.GroupPreemption{}})); !strings.HasSuffix(text, "PodGroup deletes nothing; 0 violate a PodDisruptionBudget\n") {
		t.Errorf("without victims:\n%s", text)
	}
}

func TestLimits(t *testing.T) {
	annotations := decide(t, st.Pod("p", asking, st.Requests("cpu", "1")), st.Nodes(99))
	sum := 0
	for name, value := range annotations {
		sum += len(name) + len(value)
		if len(value) > maxBytes {
			t.Errorf("%s has %d bytes", name, len(value))
		}
	}
	many := decide(t, st.Pod("p", asking, st.Requests("cpu", "9")), st.Nodes(5000))
	var decision Decision
	if err := json.Unmarshal([]byte(many[Decided]), &decision); err != nil || decision.Nodes != 5000 || decision.Shown == 0 || decision.Shown >= 5000 {
		t.Errorf("%s, %v", many[Decided], err)
	}
	if text := printed(t, many); !strings.Contains(text, fmt.Sprintf("and %d more nodes", decision.Nodes-decision.Shown)) {
		t.Error("the nodes that are left out are not counted")
	}
	if sum+maxOthers > 256<<10 {
		t.Errorf("%d bytes", sum)
	}
}

func FuzzPrint(f *testing.F) {
	f.Add(`{"nodes":1}`, `{"n":{"p":"passed"}}`, `{"n":{"p":"1"}}`)
	f.Fuzz(func(_ *testing.T, decided, filters, scores string) {
		_ = Print(&strings.Builder{}, map[string]string{Decided: decided, Filters: filters, Scores: scores, FinalScores: scores})
	})
}
