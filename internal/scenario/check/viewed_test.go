package check

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// A typed object covers what its unstructured form does, whether that was made or not.
func TestViewedCovers(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionFalse},
		}},
	}
	for _, came := range []runtime.Object{
		pod, &corev1.Pod{}, &corev1.ConfigMap{Data: map[string]string{"a": "1"}},
		&unstructured.Unstructured{Object: map[string]any{"kind": "Pod", "status": map[string]any{"phase": "Running"}}},
	} {
		for _, want := range []map[string]any{
			nil,
			{"status": map[string]any{"phase": "Running"}},
			{"status": map[string]any{"phase": "Failed"}},
			{"status": map[string]any{}},
			{"status": nil},
			{"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}},
			{"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False"}}}, "spec": map[string]any{"nodeName": "node-1"}},
			{"metadata": map[string]any{"labels": map[string]any{"app": "web"}}},
			{"metadata": map[string]any{"labels": map[string]any{"app": "api"}}},
			{"kind": "Pod"},
			{"data": map[string]any{"a": "1"}},
			{"nothing": map[string]any{}},
			{"nothing": nil},
			{"metadata": map[string]any{"deletionTimestamp": nil}},
			{"metadata": map[string]any{"labels": nil}},
		} {
			whole := &viewed{came: came}
			expected := Covers(want, whole.unstructured().Object)
			part := &viewed{came: came}
			for range 2 {
				if got := part.covers(want); got != expected {
					t.Errorf("%T covers %v: %t, want %t", came, want, got, expected)
				}
			}
			if whole.covers(want) != expected {
				t.Errorf("%T covers %v otherwise when it was looked at", came, want)
			}
		}
	}
}
