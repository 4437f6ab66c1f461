package resources

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime"
)

// horizontalPodAutoscalerRow stores autoscalers; horizontalPodAutoscalerV1Row is an
// older face of the same objects.
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
			Validate:             check(validateAutoscaler),
			ValidateCreate:       check(validateTargetVersion),
			ValidateUpdate:       checkUpdate(validateTargetVersionUpdate),
			ValidateStatusUpdate: checkUpdate(validateAutoscalerStatus),
		},
		Subresources: []Subresource{statusOf(kind, newAutoscaler)},
	}
}

// defaultUtilization is what an autoscaler without metrics aims at, in percent of
// the requested CPU.
const defaultUtilization int32 = 80

func defaultAutoscaler(a *autoscalingv2.HorizontalPodAutoscaler) {
	pointDefault(&a.Spec.MinReplicas, 1)
	if len(a.Spec.Metrics) == 0 {
		a.Spec.Metrics = []autoscalingv2.MetricSpec{cpuUtilization(defaultUtilization)}
	}
	defaultBehavior(a.Spec.Behavior)
}

// defaultBehavior fills in how fast an autoscaler may scale, if it says so at all.
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
	// Up it goes by four pods or to twice as many, whichever is more. How long to
	// wait before going down is the controller's own setting.
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
