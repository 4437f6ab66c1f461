package decide

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conditionTaint is the taint of nodes whose condition has the given status.
type conditionTaint struct {
	condition corev1.NodeConditionType
	status    corev1.ConditionStatus
	key       string
}

// conditionTaints are the taints that follow from a node's conditions.
var conditionTaints = []conditionTaint{
	{corev1.NodeReady, corev1.ConditionFalse, corev1.TaintNodeNotReady},
	{corev1.NodeReady, corev1.ConditionUnknown, corev1.TaintNodeUnreachable},
	{corev1.NodeMemoryPressure, corev1.ConditionTrue, corev1.TaintNodeMemoryPressure},
	{corev1.NodeDiskPressure, corev1.ConditionTrue, corev1.TaintNodeDiskPressure},
	{corev1.NodeNetworkUnavailable, corev1.ConditionTrue, corev1.TaintNodeNetworkUnavailable},
	{corev1.NodePIDPressure, corev1.ConditionTrue, corev1.TaintNodePIDPressure},
}

// noScheduleKeys returns the keys of the NoSchedule taints, managed by this controller, that the
// node should have.
func noScheduleKeys(n *corev1.Node) []string {
	var keys []string
	for _, t := range conditionTaints {
		if c := ConditionOf(n, t.condition); c != nil && c.Status == t.status {
			keys = append(keys, t.key)
		}
	}
	if n.Spec.Unschedulable {
		keys = append(keys, corev1.TaintNodeUnschedulable)
	}
	return keys
}

// noExecuteKey returns the key of the NoExecute taint that the node should have; "" for
// none. A node without a Ready condition gets none, as in upstream's controller: its
// kubelet has the startup grace period to post one before the controller sets it to
// Unknown.
func noExecuteKey(n *corev1.Node) string {
	ready := ConditionOf(n, corev1.NodeReady)
	switch {
	case ready == nil:
		return ""
	case ready.Status == corev1.ConditionUnknown:
		return corev1.TaintNodeUnreachable
	case ready.Status == corev1.ConditionFalse:
		return corev1.TaintNodeNotReady
	}
	return ""
}

// ours reports whether this controller adds and removes the taint.
func ours(t corev1.Taint) bool {
	switch t.Effect {
	case corev1.TaintEffectNoExecute:
		return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
	case corev1.TaintEffectNoSchedule:
		return t.Key == corev1.TaintNodeUnschedulable || slices.ContainsFunc(conditionTaints, func(c conditionTaint) bool { return c.key == t.Key })
	}
	return false
}

// hasNoExecute reports whether the node has a NoExecute taint that this controller manages.
func hasNoExecute(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoExecute && ours(t)
	})
}

// withTaints returns the node's taints, with the given ones in place of the taints that this
// controller manages, and whether they changed. Taints that stay keep their position and
// time.
func withTaints(n *corev1.Node, noSchedule []string, noExecute string, now time.Time) (taints []corev1.Taint, changed bool) {
	wanted := make([]corev1.Taint, 0, len(noSchedule)+1)
	for _, key := range noSchedule {
		wanted = append(wanted, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
	if noExecute != "" {
		wanted = append(wanted, corev1.Taint{Key: noExecute, Effect: corev1.TaintEffectNoExecute})
	}
	for _, t := range n.Spec.Taints {
		i := slices.IndexFunc(wanted, func(w corev1.Taint) bool { return w.MatchTaint(&t) })
		switch {
		case i >= 0:
			wanted = slices.Delete(wanted, i, i+1)
			taints = append(taints, t)
		case ours(t):
			changed = true
		default:
			taints = append(taints, t)
		}
	}
	for _, t := range wanted {
		t.TimeAdded = &metav1.Time{Time: now}
		taints = append(taints, t)
	}
	return taints, changed || len(wanted) > 0
}
