package framework

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// GroupOf returns the PodGroup of a pod; the zero value: it has none.
func GroupOf(pod *corev1.Pod) types.NamespacedName {
	if g := pod.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		return types.NamespacedName{Namespace: pod.Namespace, Name: *g.PodGroupName}
	}
	return types.NamespacedName{}
}
