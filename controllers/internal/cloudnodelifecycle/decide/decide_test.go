package decide

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func node(ready corev1.ConditionStatus, taints ...corev1.Taint) *corev1.Node {
	n := &corev1.Node{Spec: corev1.NodeSpec{Taints: taints}}
	if ready != "" {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue}, {Type: corev1.NodeReady, Status: ready}}
	}
	return n
}

var other = corev1.Taint{Key: "a", Effect: corev1.TaintEffectNoSchedule}

func TestFirst(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		node *corev1.Node
		want Step
	}{
		"ready":             {node(corev1.ConditionTrue, other), Nothing},
		"ready and tainted": {node(corev1.ConditionTrue, other, shutdown()), Untaint},
		"not ready":         {node(corev1.ConditionFalse), Ask},
		"unknown":           {node(corev1.ConditionUnknown, shutdown()), Ask},
		"without condition": {node(""), Ask},
	} {
		if got := First(tt.node); got != tt.want {
			t.Errorf("%s: First() = %v, want %v", name, got, tt.want)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	notReady, down := node(corev1.ConditionFalse), node(corev1.ConditionUnknown, shutdown())
	for name, tt := range map[string]struct {
		node   *corev1.Node
		answer Answer
		want   Verdict
	}{
		"it runs":                   {notReady, Runs, Keep},
		"it runs again":             {down, Runs, Keep},
		"it is shut down":           {notReady, Shutdown, Taint},
		"it is still shut down":     {down, Shutdown, Keep},
		"it is gone":                {notReady, Missing, Delete},
		"it is gone after shutdown": {down, Missing, Delete},
		"the cloud does not know":   {notReady, Unknown, Keep},
		"a Ready node stays":        {node(corev1.ConditionTrue), Missing, Keep},
		"a Ready node is no taint":  {node(corev1.ConditionTrue), Shutdown, Keep},
	} {
		if got := Judge(tt.node, tt.answer); got != tt.want {
			t.Errorf("%s: Judge() = %v, want %v", name, got, tt.want)
		}
	}
}

func TestTaints(t *testing.T) {
	t.Parallel()
	n := node(corev1.ConditionFalse, other)
	n.Spec.Taints = Tainted(n)
	if want := []corev1.Taint{other, shutdown()}; !slices.Equal(n.Spec.Taints, want) {
		t.Errorf("Tainted() = %v, want %v", n.Spec.Taints, want)
	}
	if got := Tainted(n); !slices.Equal(got, n.Spec.Taints) {
		t.Errorf("Tainted() twice = %v", got)
	}
	if got := Untainted(n); !slices.Equal(got, []corev1.Taint{other}) {
		t.Errorf("Untainted() = %v", got)
	}
}
