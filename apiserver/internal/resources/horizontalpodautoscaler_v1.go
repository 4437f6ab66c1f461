package resources

import (
	"maps"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

// Annotations that keep the fields which autoscaling/v1 does not have, so that its
// clients do not lose them.
const (
	metricsAnnotation    = "autoscaling.alpha.kubernetes.io/metrics"
	behaviorAnnotation   = "autoscaling.alpha.kubernetes.io/behavior"
	statusesAnnotation   = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation = "autoscaling.alpha.kubernetes.io/conditions"
)

func horizontalPodAutoscalerV1Row() *Resource {
	kind := autoscalingv1.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")
	newAutoscaler := func() runtime.Object { return &autoscalingv1.HorizontalPodAutoscaler{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "horizontalpodautoscalers",
		ShortNames:       []string{"hpa"},
		Categories:       []string{"all"},
		Namespaced:       true,
		Storage: &StorageConversion{
			Resource: autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers"),
			To: func(obj runtime.Object) runtime.Object {
				return autoscalerToV2(obj.(*autoscalingv1.HorizontalPodAutoscaler))
			},
			From: func(stored runtime.Object) runtime.Object {
				return autoscalerFromV2(stored.(*autoscalingv2.HorizontalPodAutoscaler))
			},
		},
		New:     newAutoscaler,
		NewList: func() runtime.Object { return &autoscalingv1.HorizontalPodAutoscalerList{} },
		Strategy: Strategy{
			Default: on(func(a *autoscalingv1.HorizontalPodAutoscaler) { pointDefault(&a.Spec.MinReplicas, 1) }),
			PrepareCreate: on(func(a *autoscalingv1.HorizontalPodAutoscaler) {
				keepAnnotations(a, &autoscalingv1.HorizontalPodAutoscaler{}, statusesAnnotation, conditionsAnnotation)
			}),
			PrepareUpdate: onUpdate(func(a, old *autoscalingv1.HorizontalPodAutoscaler) {
				keepAnnotations(a, old, statusesAnnotation, conditionsAnnotation)
			}),
			PrepareStatusUpdate: onUpdate(func(a, old *autoscalingv1.HorizontalPodAutoscaler) {
				keepAnnotations(a, old, metricsAnnotation, behaviorAnnotation)
			}),
			Generation: true,
			Validate: check(func(a *autoscalingv1.HorizontalPodAutoscaler) field.ErrorList {
				return validation.HorizontalPodAutoscaler(autoscalerToV2(a))
			}),
			ValidateCreate: check(func(a *autoscalingv1.HorizontalPodAutoscaler) field.ErrorList {
				return validation.HorizontalPodAutoscalerCreate(autoscalerToV2(a))
			}),
			ValidateUpdate: checkUpdate(func(a, old *autoscalingv1.HorizontalPodAutoscaler) field.ErrorList {
				return validation.HorizontalPodAutoscalerUpdate(autoscalerToV2(a), autoscalerToV2(old))
			}),
			ValidateStatusUpdate: checkUpdate(func(a, _ *autoscalingv1.HorizontalPodAutoscaler) field.ErrorList {
				return validation.HorizontalPodAutoscalerStatus(autoscalerToV2(a), nil)
			}),
		},
		Subresources: []Subresource{statusOf(kind, newAutoscaler)},
		Adapt: adaptAutoscalers(func(obj runtime.Object) *int32 {
			return obj.(*autoscalingv1.HorizontalPodAutoscaler).Spec.MinReplicas
		}),
	}
}

// autoscalerToV2 converts an autoscaler of autoscaling/v1 to the stored form.
func autoscalerToV2(a *autoscalingv1.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	stored := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: a.ObjectMeta,
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(a.Spec.ScaleTargetRef),
			MinReplicas:    a.Spec.MinReplicas,
			MaxReplicas:    a.Spec.MaxReplicas,
		},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{
			ObservedGeneration: a.Status.ObservedGeneration,
			LastScaleTime:      a.Status.LastScaleTime,
			CurrentReplicas:    a.Status.CurrentReplicas,
			DesiredReplicas:    a.Status.DesiredReplicas,
		},
	}
	stored.Spec.Metrics = metricsToV2(a.Annotations[metricsAnnotation])
	if target := a.Spec.TargetCPUUtilizationPercentage; target != nil {
		stored.Spec.Metrics = append(stored.Spec.Metrics, cpuUtilization(*target))
	}
	if len(stored.Spec.Metrics) == 0 {
		stored.Spec.Metrics = []autoscalingv2.MetricSpec{cpuUtilization(defaultUtilization)}
	}
	stored.Spec.Behavior = behaviorFrom(a.Annotations[behaviorAnnotation])
	stored.Status.CurrentMetrics = statusesToV2(a.Annotations[statusesAnnotation])
	if current := a.Status.CurrentCPUUtilizationPercentage; current != nil {
		stored.Status.CurrentMetrics = append(stored.Status.CurrentMetrics, currentCPUUtilization(*current))
	}
	stored.Status.Conditions = conditionsToV2(a.Annotations[conditionsAnnotation])
	stored.Annotations = withoutAnnotations(a.Annotations, metricsAnnotation, behaviorAnnotation, statusesAnnotation, conditionsAnnotation)
	defaultBehavior(stored.Spec.Behavior)
	return stored
}

// autoscalerFromV2 converts a stored autoscaler to autoscaling/v1.
func autoscalerFromV2(a *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv1.HorizontalPodAutoscaler {
	shown := &autoscalingv1.HorizontalPodAutoscaler{
		ObjectMeta: a.ObjectMeta,
		Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv1.CrossVersionObjectReference(a.Spec.ScaleTargetRef),
			MinReplicas:    a.Spec.MinReplicas,
			MaxReplicas:    a.Spec.MaxReplicas,
		},
		Status: autoscalingv1.HorizontalPodAutoscalerStatus{
			ObservedGeneration: a.Status.ObservedGeneration,
			LastScaleTime:      a.Status.LastScaleTime,
			CurrentReplicas:    a.Status.CurrentReplicas,
			DesiredReplicas:    a.Status.DesiredReplicas,
		},
	}
	var metrics []autoscalingv1.MetricSpec
	for i := range a.Spec.Metrics {
		if target := cpuTarget(&a.Spec.Metrics[i]); target != nil {
			shown.Spec.TargetCPUUtilizationPercentage = target
		} else {
			metrics = append(metrics, metricFromV2(&a.Spec.Metrics[i]))
		}
	}
	var statuses []autoscalingv1.MetricStatus
	for i := range a.Status.CurrentMetrics {
		if current := currentCPU(&a.Status.CurrentMetrics[i]); current != nil {
			shown.Status.CurrentCPUUtilizationPercentage = current
		} else {
			statuses = append(statuses, statusFromV2(&a.Status.CurrentMetrics[i]))
		}
	}
	extra := map[string]string{}
	annotate(extra, metricsAnnotation, metrics, len(metrics))
	annotate(extra, statusesAnnotation, statuses, len(statuses))
	annotate(extra, conditionsAnnotation, conditionsFromV2(a.Status.Conditions), len(a.Status.Conditions))
	if a.Spec.Behavior != nil {
		annotate(extra, behaviorAnnotation, behaviorText(a.Spec.Behavior), 1)
	}
	if len(extra) > 0 {
		maps.Copy(extra, withoutAnnotations(a.Annotations, metricsAnnotation, behaviorAnnotation, statusesAnnotation, conditionsAnnotation))
		shown.Annotations = extra
	}
	return shown
}
