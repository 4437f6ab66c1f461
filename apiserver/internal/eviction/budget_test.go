package eviction

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func budgetWith(change func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "b", Generation: 1},
		Status: policyv1.PodDisruptionBudgetStatus{
			ObservedGeneration: 1, DisruptionsAllowed: 1, CurrentHealthy: 2, DesiredHealthy: 1,
			Conditions: []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionTrue, Reason: policyv1.SufficientPodsReason}},
		},
	}
	change(budget)
	return budget
}

func TestMayDisrupt(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*policyv1.PodDisruptionBudget)
		code   int32
		after  int32
	}{
		"one is left":  {func(*policyv1.PodDisruptionBudget) {}, 0, 0},
		"none is left": {func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 0 }, 429, 0},
		"not observed": {func(b *policyv1.PodDisruptionBudget) { b.Generation = 2 }, 429, retryProcessing},
		"negative":     {func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = -1 }, 403, 0},
		"too many unconfirmed": {func(b *policyv1.PodDisruptionBudget) {
			b.Status.DisruptedPods = map[string]metav1.Time{}
			for i := range maxDisruptedPods + 1 {
				b.Status.DisruptedPods[string(rune(i))] = metav1.Time{}
			}
		}, 403, 0},
	} {
		err := mayDisrupt(budgetWith(test.change))
		if test.code == 0 {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		status, is := err.(apierrors.APIStatus)
		if !is || status.Status().Code != test.code {
			t.Errorf("%s: %v, want the code %d", name, err, test.code)
			continue
		}
		if details := status.Status().Details; details.RetryAfterSeconds != test.after {
			t.Errorf("%s: retry after %d seconds, want %d", name, details.RetryAfterSeconds, test.after)
		}
	}
}

func TestGrantDisruption(t *testing.T) {
	budget := budgetWith(func(*policyv1.PodDisruptionBudget) {})
	now := metav1.NewTime(time.Unix(100, 0))
	granted, err := grantDisruption(budget, "p", now)
	if err != nil {
		t.Fatal(err)
	}
	if at, has := granted.Status.DisruptedPods["p"]; !has || at != now || granted.Status.DisruptionsAllowed != 0 {
		t.Errorf("granted: %+v", granted.Status)
	}
	if c := granted.Status.Conditions[0]; c.Status != metav1.ConditionFalse || c.Reason != policyv1.InsufficientPodsReason || c.LastTransitionTime != now {
		t.Errorf("the condition is %+v", c)
	}
	if budget.Status.DisruptionsAllowed != 1 || budget.Status.Conditions[0].Status != metav1.ConditionTrue {
		t.Error("the budget itself was changed")
	}
	if _, err := grantDisruption(granted, "q", now); err == nil {
		t.Error("a second disruption was granted")
	}
}

func TestGoesUnhealthy(t *testing.T) {
	always := policyv1.AlwaysAllow
	ready := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
	lacking := func(b *policyv1.PodDisruptionBudget) { b.Status.CurrentHealthy = 0 }
	for name, test := range map[string]struct {
		budget *policyv1.PodDisruptionBudget
		pod    *corev1.Pod
		want   bool
	}{
		"a ready pod":             {budgetWith(func(b *policyv1.PodDisruptionBudget) { b.Spec.UnhealthyPodEvictionPolicy = &always }), ready, false},
		"enough others":           {budgetWith(func(*policyv1.PodDisruptionBudget) {}), &corev1.Pod{}, true},
		"too few others":          {budgetWith(lacking), &corev1.Pod{}, false},
		"too few, always allowed": {budgetWith(func(b *policyv1.PodDisruptionBudget) { lacking(b); b.Spec.UnhealthyPodEvictionPolicy = &always }), &corev1.Pod{}, true},
	} {
		if got := goesUnhealthy(test.budget, test.pod); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
