package decide

import (
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// wakes reports whether an autoscaler acts on a target without replicas (KEP-2021). A target that a
// user scaled to zero is paused. One that the autoscaler scaled to zero, as its condition
// ScaledToZero records, starts again when a metric requires it, or when the minimum is raised.
func wakes(a *autoscalingv2.HorizontalPodAutoscaler) bool {
	return scaledToZero(a) && (ptr.Deref(a.Spec.MinReplicas, 1) != 0 || scalesFromZero(a))
}

func scaledToZero(a *autoscalingv2.HorizontalPodAutoscaler) bool {
	return slices.ContainsFunc(a.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
		return c.Type == autoscalingv2.ScaledToZero && c.Status == corev1.ConditionTrue
	})
}

// scalesFromZero reports whether an autoscaler has a metric that exists without pods.
func scalesFromZero(a *autoscalingv2.HorizontalPodAutoscaler) bool {
	return slices.ContainsFunc(a.Spec.Metrics, func(m autoscalingv2.MetricSpec) bool {
		return m.Type == autoscalingv2.ObjectMetricSourceType || m.Type == autoscalingv2.ExternalMetricSourceType
	})
}
