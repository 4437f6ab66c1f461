package eviction

import (
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"

	"minikcm.dev/minikcm/internal/podspec"
)

// Reason is the reason of evicted pods, and of pods that a node under pressure refuses.
const Reason = "Evicted"

// Refusal returns why a node with these conditions admits no further pod; empty if it admits it.
// Under memory pressure it refuses only BestEffort pods.
func Refusal(conditions []corev1.NodeConditionType, pod *corev1.Pod) string {
	if len(conditions) == 0 || Critical(pod) {
		return ""
	}
	if slices.Equal(conditions, []corev1.NodeConditionType{corev1.NodeMemoryPressure}) {
		taint := &corev1.Taint{Key: corev1.TaintNodeMemoryPressure, Effect: corev1.TaintEffectNoSchedule}
		if !podspec.BestEffort(pod) || schedulinghelper.TolerationsTolerateTaint(logr.Logger{}, pod.Spec.Tolerations, taint, false) {
			return ""
		}
	}
	return fmt.Sprintf("The node had condition: %v. ", conditions)
}
