package decide

import (
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conditions are the conditions of a status that is being computed.
type conditions struct {
	list []autoscalingv2.HorizontalPodAutoscalerCondition
	now  time.Time
}

func (c *conditions) set(kind autoscalingv2.HorizontalPodAutoscalerConditionType, is bool, reason, message string) {
	i := slices.IndexFunc(c.list, func(o autoscalingv2.HorizontalPodAutoscalerCondition) bool { return o.Type == kind })
	if i < 0 {
		c.list = append(c.list, autoscalingv2.HorizontalPodAutoscalerCondition{Type: kind})
		i = len(c.list) - 1
	}
	condition := &c.list[i]
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	if condition.Status != status {
		condition.LastTransitionTime = metav1.NewTime(c.now)
	}
	condition.Status, condition.Reason, condition.Message = status, reason, message
}
