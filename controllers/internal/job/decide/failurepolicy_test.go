package decide

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestMatchRule checks which match of several is reported.
func TestMatchRule(t *testing.T) {
	conditions := func(kinds ...corev1.PodConditionType) *batchv1.PodFailurePolicyRule {
		rule := &batchv1.PodFailurePolicyRule{}
		for _, kind := range kinds {
			rule.OnPodConditions = append(rule.OnPodConditions, batchv1.PodFailurePolicyOnPodConditionsPattern{Type: kind, Status: corev1.ConditionTrue})
		}
		return rule
	}
	codes := func(op batchv1.PodFailurePolicyOnExitCodesOperator, container *string, values ...int32) *batchv1.PodFailurePolicyRule {
		return &batchv1.PodFailurePolicyRule{OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: op, ContainerName: container, Values: values}}
	}
	ended := func(name string, code int32) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}, Status: corev1.PodStatus{
		Conditions: []corev1.PodCondition{
			{Type: "First", Status: corev1.ConditionTrue}, {Type: "No", Status: corev1.ConditionFalse}, {Type: "Second", Status: corev1.ConditionTrue},
		},
		InitContainerStatuses: []corev1.ContainerStatus{ended("init", 3)},
		ContainerStatuses:     []corev1.ContainerStatus{{Name: "running"}, ended("fine", 0), ended("app", 3), ended("side", 7)},
	}}
	side := "side"
	for name, tc := range map[string]struct {
		rule *batchv1.PodFailurePolicyRule
		want string
	}{
		"the pod's first condition":       {conditions("Second", "First"), "Pod a/p has condition First"},
		"of another status":               {conditions("No"), ""},
		"containers before initial ones":  {codes(batchv1.PodFailurePolicyOnExitCodesOpIn, nil, 3), "Container app for pod a/p failed with exit code 3"},
		"success is no failure":           {codes(batchv1.PodFailurePolicyOnExitCodesOpNotIn, nil, 3), "Container side for pod a/p failed with exit code 7"},
		"only the container that's named": {codes(batchv1.PodFailurePolicyOnExitCodesOpIn, &side, 3), ""},
		"neither":                         {&batchv1.PodFailurePolicyRule{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := matchRule(tc.rule, pod); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
