package resources

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/internal/featuregates"
)

// horizontalPodAutoscalerRow stores autoscalers; horizontalPodAutoscalerV1Row is an
// older API of the same objects.
func horizontalPodAutoscalerRow() *Resource {
	kind := autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")
	newAutoscaler := func() runtime.Object { return &autoscalingv2.HorizontalPodAutoscaler{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "horizontalpodautoscalers",
		ShortNames:       []string{"hpa"},
		Categories:       []string{"all"},
		Namespaced:       true,
		New:              newAutoscaler,
		NewList:          func() runtime.Object { return &autoscalingv2.HorizontalPodAutoscalerList{} },
		Strategy: Strategy{
			Default:              on(defaultAutoscaler),
			Generation:           true,
			Validate:             check(validation.HorizontalPodAutoscaler),
			ValidateCreate:       check(validation.HorizontalPodAutoscalerCreate),
			ValidateUpdate:       checkUpdate(validation.HorizontalPodAutoscalerUpdate),
			ValidateStatusUpdate: checkUpdate(validation.HorizontalPodAutoscalerStatus),
		},
		Subresources: []Subresource{statusOf(kind, newAutoscaler)},
		Adapt: adaptAutoscalers(func(obj runtime.Object) *int32 {
			return obj.(*autoscalingv2.HorizontalPodAutoscaler).Spec.MinReplicas
		}),
	}
}

// adaptAutoscalers returns the function that changes a row for the feature gates of autoscalers: whether
// they may scale to zero, and whether a generation counts the changes of their specs.
func adaptAutoscalers(minimum func(obj runtime.Object) *int32) func(row *Resource, gates featuregates.Gates) {
	return func(row *Resource, gates featuregates.Gates) {
		strategy := &row.Strategy
		strategy.Generation = gates.Enabled(featuregates.HPAGeneration)
		if gates.Enabled(featuregates.HPAScaleToZero) {
			return
		}
		create, update := strategy.ValidateCreate, strategy.ValidateUpdate
		strategy.ValidateCreate = func(obj runtime.Object) field.ErrorList {
			return append(validation.NotScaledToZero(minimum(obj)), create(obj)...)
		}
		strategy.ValidateUpdate = func(obj, old runtime.Object) field.ErrorList {
			var errs field.ErrorList
			if ptr.Deref(minimum(old), 1) != 0 {
				errs = validation.NotScaledToZero(minimum(obj))
			}
			return append(errs, update(obj, old)...)
		}
	}
}

// defaultUtilization is the target of an autoscaler without metrics, in percent of the
// requested CPU.
const defaultUtilization int32 = 80

func defaultAutoscaler(a *autoscalingv2.HorizontalPodAutoscaler) {
	pointDefault(&a.Spec.MinReplicas, 1)
	if len(a.Spec.Metrics) == 0 {
		a.Spec.Metrics = []autoscalingv2.MetricSpec{cpuUtilization(defaultUtilization)}
	}
	defaultBehavior(a.Spec.Behavior)
}

// defaultBehavior sets defaults in the scaling behavior, if there is one.
func defaultBehavior(b *autoscalingv2.HorizontalPodAutoscalerBehavior) {
	if b == nil {
		return
	}
	if b.ScaleUp == nil {
		b.ScaleUp = &autoscalingv2.HPAScalingRules{}
	}
	if b.ScaleDown == nil {
		b.ScaleDown = &autoscalingv2.HPAScalingRules{}
	}
	pointDefault(&b.ScaleUp.StabilizationWindowSeconds, 0)
	// By default it scales up by four pods or by 100%, whichever is more. The delay
	// before scaling down is a setting of the controller.
	defaultScalingRules(b.ScaleUp,
		autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15},
		autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15})
	defaultScalingRules(b.ScaleDown,
		autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15})
}

func defaultScalingRules(r *autoscalingv2.HPAScalingRules, policies ...autoscalingv2.HPAScalingPolicy) {
	pointDefault(&r.SelectPolicy, autoscalingv2.MaxChangePolicySelect)
	if r.Policies == nil {
		r.Policies = policies
	}
}
