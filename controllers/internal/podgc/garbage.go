package podgc

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// neverBound reports whether a pod was deleted before it was bound to a node.
func neverBound(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && pod.Spec.NodeName == ""
}

// outOfService reports whether a deleted pod's node is marked as out of service, so that no
// kubelet will end the pod (KEP-2268).
func outOfService(pod *corev1.Pod, node *corev1.Node) bool {
	return pod.DeletionTimestamp != nil && node != nil && isOutOfService(node)
}

func isOutOfService(node *corev1.Node) bool {
	ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	return !ready && slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService })
}

// surplus returns the pods to delete so that threshold remain: the oldest first.
func surplus(pods []*corev1.Pod, threshold int) []*corev1.Pod {
	if len(pods) <= threshold {
		return nil
	}
	oldest := slices.Clone(pods)
	slices.SortFunc(oldest, func(a, b *corev1.Pod) int {
		return cmp.Or(
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		)
	})
	return oldest[:len(oldest)-threshold]
}
