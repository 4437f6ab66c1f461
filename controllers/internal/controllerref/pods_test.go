package controllerref

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestAvailable(t *testing.T) {
	now := time.Unix(100, 0)
	ready := func(status corev1.ConditionStatus, since time.Time) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(since)},
		}}}
	}
	for name, tt := range map[string]struct {
		pod       *corev1.Pod
		minReady  int32
		available bool
		lacks     time.Duration
	}{
		"no condition":       {&corev1.Pod{}, 0, false, 0},
		"not ready":          {ready(corev1.ConditionFalse, now), 0, false, 0},
		"ready":              {ready(corev1.ConditionTrue, now), 0, true, 0},
		"ready, too short":   {ready(corev1.ConditionTrue, now.Add(-4*time.Second)), 10, false, 6 * time.Second},
		"ready, just enough": {ready(corev1.ConditionTrue, now.Add(-10*time.Second)), 10, true, 0},
		"ready, no time":     {ready(corev1.ConditionTrue, time.Time{}), 10, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			available, lacks := Available(tt.pod, tt.minReady, now)
			if available != tt.available || lacks != tt.lacks {
				t.Errorf("Available() = %v, %v, want %v, %v", available, lacks, tt.available, tt.lacks)
			}
		})
	}
}

func TestPodOf(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
	template := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"note": "x"}, Finalizers: []string{"a/b"},
	}}
	got := PodOf(template, &metav1.ObjectMeta{Namespace: "a", Name: "web", UID: "me"}, kind)
	ref := metav1.GetControllerOf(got)
	if got.GenerateName != "web-" || got.Namespace != "a" || got.Labels["app"] != "web" || got.Annotations["note"] != "x" ||
		len(got.Finalizers) != 1 || ref == nil || ref.UID != "me" || ref.Kind != "ReplicaSet" || ref.APIVersion != "apps/v1" {
		t.Errorf("PodOf() = %+v", got.ObjectMeta)
	}
	got.Labels["app"] = "changed"
	if template.Labels["app"] != "web" {
		t.Error("the pod shares the template's labels")
	}
	long := strings.Repeat("a", 260)
	if got := PodOf(template, &metav1.ObjectMeta{Name: long}, kind); got.GenerateName != long {
		t.Errorf("a name that is too long makes the prefix %q", got.GenerateName)
	}
}
