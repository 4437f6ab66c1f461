package kubeletsim

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A status that another client changed is restored every ten seconds; a new status is written at
// once.
func TestRestoring(t *testing.T) {
	start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	status := func(ready corev1.ConditionStatus, since time.Time) *corev1.PodStatus {
		return &corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(since)},
			{Type: "example.com/other", Status: "True", Message: since.String()}, // not the kubelet's
		}}
	}
	r := &restoring{}
	for i, step := range []struct {
		after time.Duration
		ready corev1.ConditionStatus
		waits bool
	}{
		{0, corev1.ConditionTrue, false},
		{time.Second, corev1.ConditionTrue, true},
		{2 * time.Second, corev1.ConditionTrue, true},
		{3 * time.Second, corev1.ConditionFalse, false}, // new
		{4 * time.Second, corev1.ConditionFalse, true},
		{10 * time.Second, corev1.ConditionFalse, false}, // restored
		{11 * time.Second, corev1.ConditionFalse, true},
		{20 * time.Second, corev1.ConditionFalse, false},
	} {
		now := start.Add(step.after)
		s := status(step.ready, now)
		if got := r.mustWait(s, now); got != step.waits || got == r.due.IsZero() {
			t.Errorf("%d: it waits: %v, until %v", i, got, r.due)
		}
		if !step.waits {
			r.recordWrite()
		}
	}
}
