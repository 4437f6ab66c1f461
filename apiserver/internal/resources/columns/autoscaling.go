package columns

import (
	"fmt"
	"strings"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// shownMetrics is the number of an autoscaler's metrics that a cell shows.
const shownMetrics = 2

// HorizontalPodAutoscaler is the Table of autoscaling/v2 HorizontalPodAutoscalers.
func HorizontalPodAutoscaler() Table {
	spec, status := autoscalingv2.HorizontalPodAutoscalerSpec{}.SwaggerDoc(), autoscalingv2.HorizontalPodAutoscalerStatus{}.SwaggerDoc()
	return table(func(a *autoscalingv2.HorizontalPodAutoscaler, now time.Time) []any {
		least := unset
		if a.Spec.MinReplicas != nil {
			least = fmt.Sprint(*a.Spec.MinReplicas)
		}
		return []any{
			a.Name, a.Spec.ScaleTargetRef.Kind + "/" + a.Spec.ScaleTargetRef.Name,
			metricCells(a.Spec.Metrics, a.Status.CurrentMetrics),
			least, int64(a.Spec.MaxReplicas), int64(a.Status.CurrentReplicas), age(a.CreationTimestamp, now),
		}
	},
		nameColumn(),
		text("Reference", spec["scaleTargetRef"]),
		text("Targets", spec["metrics"]),
		text("MinPods", spec["minReplicas"]),
		text("MaxPods", spec["maxReplicas"]),
		text("Replicas", status["currentReplicas"]),
		ageColumn(),
	)
}

// metricCells returns "cpu: 12%/80%": the current value of each metric and its target.
func metricCells(metrics []autoscalingv2.MetricSpec, statuses []autoscalingv2.MetricStatus) string {
	if len(metrics) == 0 {
		return none
	}
	var shown []string
	for i := range metrics {
		var status autoscalingv2.MetricStatus
		if i < len(statuses) {
			status = statuses[i]
		}
		shown = append(shown, metricCell(&metrics[i], &status))
	}
	if more := len(shown) - shownMetrics; more > 0 {
		return fmt.Sprintf("%s + %d more...", strings.Join(shown[:shownMetrics], ", "), more)
	}
	return strings.Join(shown, ", ")
}

func metricCell(m *autoscalingv2.MetricSpec, s *autoscalingv2.MetricStatus) string {
	var current autoscalingv2.MetricValueStatus
	switch {
	case m.Type == autoscalingv2.ExternalMetricSourceType && m.External != nil:
		if s.External != nil {
			current = s.External.Current
		}
		return rawMetric(&m.External.Target, &current)
	case m.Type == autoscalingv2.ObjectMetricSourceType && m.Object != nil:
		if s.Object != nil {
			current = s.Object.Current
		}
		return rawMetric(&m.Object.Target, &current)
	case m.Type == autoscalingv2.PodsMetricSourceType && m.Pods != nil:
		if s.Pods != nil {
			current = s.Pods.Current
		}
		return quantityOr(current.AverageValue) + "/" + quantityOr(m.Pods.Target.AverageValue)
	case m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil:
		if s.Resource != nil {
			current = s.Resource.Current
		}
		return podMetric(string(m.Resource.Name), &m.Resource.Target, &current)
	case m.Type == autoscalingv2.ContainerResourceMetricSourceType && m.ContainerResource != nil:
		if s.ContainerResource != nil {
			current = s.ContainerResource.Current
		}
		return podMetric(string(m.ContainerResource.Name), &m.ContainerResource.Target, &current)
	}
	return "<unknown type>"
}

// rawMetric returns the value of a metric that is either for all pods together or
// averaged per pod.
func rawMetric(target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	if target.AverageValue != nil {
		return quantityOr(current.AverageValue) + "/" + target.AverageValue.String() + " (avg)"
	}
	return quantityOr(current.Value) + "/" + quantityOr(target.Value)
}

func podMetric(name string, target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	if target.AverageValue != nil {
		return fmt.Sprintf("%s: %s/%s", name, quantityOr(current.AverageValue), target.AverageValue.String())
	}
	return fmt.Sprintf("%s: %s/%s", name, percentOr(current.AverageUtilization, unknown), percentOr(target.AverageUtilization, "<auto>"))
}

func quantityOr(q *resource.Quantity) string {
	if q == nil {
		return unknown
	}
	return q.String()
}

func percentOr(p *int32, instead string) string {
	if p == nil {
		return instead
	}
	return fmt.Sprintf("%d%%", *p)
}

// Scale is the Table of the scale subresource of any kind.
func Scale() Table {
	return table(func(s *autoscalingv1.Scale, now time.Time) []any {
		return []any{s.Name, int64(s.Spec.Replicas), int64(s.Status.Replicas), age(s.CreationTimestamp, now)}
	},
		text("Name", metav1.ObjectMeta{}.SwaggerDoc()["name"]),
		integer("Desired", autoscalingv1.ScaleSpec{}.SwaggerDoc()["replicas"]),
		integer("Available", autoscalingv1.ScaleStatus{}.SwaggerDoc()["replicas"]),
		ageColumn())
}
