package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

// TakeBack decides about a pod whose disruption has been announced by its condition
// DisruptionTarget. It withdraws the condition if the pod still runs after deletionTimeout.
func TakeBack(pod *corev1.Pod, now time.Time) plan.Plan[corev1.PodStatus] {
	condition := Announced(pod)
	if condition == nil {
		return plan.Plan[corev1.PodStatus]{}
	}
	if left := condition.LastTransitionTime.Add(deletionTimeout).Sub(now); left > 0 {
		return plan.Plan[corev1.PodStatus]{RequeueAfter: left}
	}
	status := pod.Status.DeepCopy()
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Type == corev1.DisruptionTarget {
			c.Status, c.LastTransitionTime = corev1.ConditionFalse, metav1.NewTime(now)
			c.ObservedGeneration = pod.Generation
		}
	}
	return plan.Plan[corev1.PodStatus]{Status: status}
}

// Announced returns the true DisruptionTarget condition of a pod that has not ended.
func Announced(pod *corev1.Pod) *corev1.PodCondition {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}
