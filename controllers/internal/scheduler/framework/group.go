package framework

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Group holds the properties, relevant to preemption, of a PodGroup whose pods have nodes (KEP-5710).
type Group struct {
	// Priority counts for its pods, in place of their own.
	Priority int32
	// Whole is set if its pods are preempted all together or not at all: the disruption mode "all".
	Whole bool
}

// Groups returns a PodGroup; false: it does not exist.
type Groups func(key types.NamespacedName) (Group, bool)

// GroupOf returns the PodGroup of a pod; the zero value: it has none.
func GroupOf(pod *corev1.Pod) types.NamespacedName {
	if g := pod.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		return types.NamespacedName{Namespace: pod.Namespace, Name: *g.PodGroupName}
	}
	return types.NamespacedName{}
}
