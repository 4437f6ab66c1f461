package decide

import corev1 "k8s.io/api/core/v1"

// ConditionOf returns the node's condition of a type, or nil.
func ConditionOf(n *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range n.Status.Conditions {
		if n.Status.Conditions[i].Type == kind {
			return &n.Status.Conditions[i]
		}
	}
	return nil
}

// isReady reports whether the node's Ready condition is True.
func isReady(n *corev1.Node) bool {
	ready := ConditionOf(n, corev1.NodeReady)
	return ready != nil && ready.Status == corev1.ConditionTrue
}
