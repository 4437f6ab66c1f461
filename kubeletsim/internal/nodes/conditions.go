package nodes

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

// nodeCondition is a condition that kubelets own, in its good and bad state.
type nodeCondition struct {
	kind       corev1.NodeConditionType
	good, bad  conditionText
	statusGood corev1.ConditionStatus
	statusBad  corev1.ConditionStatus
}

type conditionText struct{ reason, message, event string }

// kubeletConditions lists the kubelet's conditions in upstream's order.
func kubeletConditions() []nodeCondition {
	return []nodeCondition{
		{
			corev1.NodeMemoryPressure,
			conditionText{"KubeletHasSufficientMemory", "kubelet has sufficient memory available", "NodeHasSufficientMemory"},
			conditionText{"KubeletHasInsufficientMemory", "kubelet has insufficient memory available", "NodeHasInsufficientMemory"},
			corev1.ConditionFalse, corev1.ConditionTrue,
		},
		{
			corev1.NodeDiskPressure,
			conditionText{"KubeletHasNoDiskPressure", "kubelet has no disk pressure", "NodeHasNoDiskPressure"},
			conditionText{"KubeletHasDiskPressure", "kubelet has disk pressure", "NodeHasDiskPressure"},
			corev1.ConditionFalse, corev1.ConditionTrue,
		},
		{
			corev1.NodePIDPressure,
			conditionText{"KubeletHasSufficientPID", "kubelet has sufficient PID available", "NodeHasSufficientPID"},
			conditionText{"KubeletHasInsufficientPID", "kubelet has insufficient PID available", "NodeHasInsufficientPID"},
			corev1.ConditionFalse, corev1.ConditionTrue,
		},
		{
			corev1.NodeReady,
			conditionText{"KubeletReady", "kubelet is posting ready status", "NodeReady"},
			conditionText{"KubeletNotReady", "container runtime is down", "NodeNotReady"},
			corev1.ConditionTrue, corev1.ConditionFalse,
		},
	}
}

// Conditions returns the conditions that other components own, followed by the kubelet's own, and
// the events of the conditions that changed.
func Conditions(object *corev1.Node, n *Node, now time.Time) ([]corev1.NodeCondition, []lifecycle.Event) {
	old := map[corev1.NodeConditionType]corev1.NodeCondition{}
	for _, c := range object.Status.Conditions {
		old[c.Type] = c
	}
	troubles, networkless := n.Troubled(), n.NetworkError() != ""
	var own []corev1.NodeCondition
	var events []lifecycle.Event
	for _, k := range kubeletConditions() {
		text, status := k.good, k.statusGood
		switch {
		case troubles[k.kind] && k.kind == corev1.NodeReady:
			text, status = n.notReadyText(k.bad), k.statusBad
		case troubles[k.kind]:
			text, status = k.bad, k.statusBad
		case networkless && k.kind == corev1.NodeReady:
			text, status = noNetwork(), k.statusBad
		}
		c := corev1.NodeCondition{
			Type: k.kind, Status: status, Reason: text.reason, Message: text.message,
			LastHeartbeatTime: lifecycle.APITime(now), LastTransitionTime: lifecycle.APITime(now),
		}
		if was, ok := old[k.kind]; ok && was.Status == status {
			c.LastTransitionTime = was.LastTransitionTime
		} else {
			events = append(events, lifecycle.Event{
				Kind: corev1.EventTypeNormal, Reason: text.event,
				Message: fmt.Sprintf("Node %s status is now: %s", object.Name, text.event),
			})
		}
		own = append(own, c)
		delete(old, k.kind)
	}
	conditions := make([]corev1.NodeCondition, 0, len(old)+len(own))
	for _, c := range object.Status.Conditions {
		if _, others := old[c.Type]; others {
			conditions = append(conditions, c)
		}
	}
	return append(conditions, own...), events
}

func IsKubeletCondition(condition corev1.NodeConditionType) bool {
	for _, c := range kubeletConditions() {
		if c.kind == condition {
			return true
		}
	}
	return false
}
