package decide

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// The annotations of a Node by which its kubelet leaves attaching to this controller, and keeps
// the volumes of pods that have ended.
const (
	managedAnnotation        = "volumes.kubernetes.io/controller-managed-attach-detach"
	keepTerminatedAnnotation = "volumes.kubernetes.io/keep-terminated-pod-volumes"
)

// Uses reports whether the controller attaches the volumes of a pod to its node, whose health is
// given.
func Uses(pod *corev1.Pod, node Health) bool {
	return node.Managed && (node.KeepsTerminated || !Terminated(pod))
}

// Terminated reports whether no container of a pod runs or will run again.
func Terminated(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return true
	}
	return pod.DeletionTimestamp != nil && !slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Terminated == nil && c.State.Waiting == nil
	})
}

// Health is the state of a node that decisions depend on, besides the volumes in its status.
type Health struct {
	// Exists is false for a node that was deleted.
	Exists bool
	// Managed means that the controller attaches the node's volumes, KeepsTerminated that pods
	// which have ended keep theirs.
	Managed, KeepsTerminated bool
	// Ready and OutOfService are the node's condition and its taint.
	Ready, OutOfService bool
}

// HealthOf returns the health of a node; nil: it does not exist.
func HealthOf(node *corev1.Node) Health {
	if node == nil {
		return Health{}
	}
	_, managed := node.Annotations[managedAnnotation]
	return Health{
		Exists: true, Managed: managed, KeepsTerminated: node.Annotations[keepTerminatedAnnotation] == "true",
		Ready: slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}),
		OutOfService: slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService }),
	}
}
