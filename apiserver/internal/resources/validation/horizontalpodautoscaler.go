package validation

import (
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxPolicyPeriod        int32 = 1800
	maxStabilizationWindow int32 = 3600
)

func HorizontalPodAutoscaler(a *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	spec, p := &a.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if spec.MinReplicas != nil && *spec.MinReplicas < 0 {
		errs = append(errs, field.Invalid(p.Child("minReplicas"), *spec.MinReplicas, "must be greater than or equal to 0"))
	}
	switch {
	case spec.MaxReplicas == 0:
		errs = append(errs, field.Required(p.Child("maxReplicas"), ""))
	case spec.MaxReplicas < 0:
		errs = append(errs, field.Invalid(p.Child("maxReplicas"), spec.MaxReplicas, "must be greater than or equal to 1"))
	}
	if spec.MinReplicas != nil && spec.MaxReplicas < *spec.MinReplicas {
		errs = append(errs, field.Invalid(p.Child("maxReplicas"), spec.MaxReplicas, "must be greater than or equal to `minReplicas`"))
	}
	errs = append(errs, validateScaleTarget(p.Child("scaleTargetRef"), &spec.ScaleTargetRef)...)
	for i := range spec.Metrics {
		errs = append(errs, validateMetric(p.Child("metrics").Index(i), &spec.Metrics[i])...)
	}
	if spec.MinReplicas != nil && *spec.MinReplicas == 0 && !slices.ContainsFunc(spec.Metrics, knownWithoutPods) {
		errs = append(errs, field.Forbidden(p.Child("metrics"), "must specify at least one Object or External metric to support scaling to zero replicas"))
	}
	if spec.Behavior != nil {
		errs = append(errs, validateScalingRules(p.Child("behavior", "scaleUp"), spec.Behavior.ScaleUp)...)
		errs = append(errs, validateScalingRules(p.Child("behavior", "scaleDown"), spec.Behavior.ScaleDown)...)
	}
	return errs
}

// NotScaledToZero validates the minimum of an autoscaler that may not scale its target to zero.
func NotScaledToZero(minimum *int32) field.ErrorList {
	if minimum == nil || *minimum != 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "minReplicas"), *minimum, "must be greater than or equal to 1")}
}

// knownWithoutPods reports whether a metric has a value while its target has no pods.
func knownWithoutPods(m autoscalingv2.MetricSpec) bool {
	return m.Type == autoscalingv2.ObjectMetricSourceType || m.Type == autoscalingv2.ExternalMetricSourceType
}

func validateScaleTarget(p *field.Path, ref *autoscalingv2.CrossVersionObjectReference) field.ErrorList {
	errs := requiredOr(p.Child("kind"), ref.Kind, path.IsValidPathSegmentName)
	return append(errs, requiredOr(p.Child("name"), ref.Name, path.IsValidPathSegmentName)...)
}

// HorizontalPodAutoscalerCreate requires a group, except for ReplicationControllers, the only
// scalable kind without one.
func HorizontalPodAutoscalerCreate(a *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	ref, p := &a.Spec.ScaleTargetRef, field.NewPath("spec", "scaleTargetRef", "apiVersion")
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	switch {
	case err != nil:
		return field.ErrorList{field.Invalid(p, ref.APIVersion, err.Error())}
	case gv.Group == "" && ref.Kind != "ReplicationController":
		return field.ErrorList{field.Invalid(p, ref.APIVersion, "apiVersion must specify API group")}
	}
	return nil
}

// HorizontalPodAutoscalerUpdate accepts an unchanged target.
func HorizontalPodAutoscalerUpdate(a, old *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	ref, was := a.Spec.ScaleTargetRef, old.Spec.ScaleTargetRef
	if ref.APIVersion == was.APIVersion && ref.Kind == was.Kind {
		return nil
	}
	return HorizontalPodAutoscalerCreate(a)
}

// metricSource is one of the source fields of a metric; the metric's type selects one.
type metricSource struct {
	of       autoscalingv2.MetricSourceType
	name     string
	set      bool
	validate func(p *field.Path) field.ErrorList
}

func metricSources(m *autoscalingv2.MetricSpec) []metricSource {
	return []metricSource{
		{autoscalingv2.ObjectMetricSourceType, "object", m.Object != nil, func(p *field.Path) field.ErrorList {
			errs := validateScaleTarget(p.Child("describedObject"), &m.Object.DescribedObject)
			errs = append(errs, validateMetricIdentifier(p.Child("metric"), &m.Object.Metric)...)
			errs = append(errs, validateMetricTarget(p.Child("target"), &m.Object.Target)...)
			return append(errs, requiredTarget(p.Child("target", "averageValue"), m.Object.Target.Value, m.Object.Target.AverageValue, "must set either a target value or averageValue")...)
		}},
		{autoscalingv2.ExternalMetricSourceType, "external", m.External != nil, func(p *field.Path) field.ErrorList {
			errs := validateMetricIdentifier(p.Child("metric"), &m.External.Metric)
			errs = append(errs, validateMetricTarget(p.Child("target"), &m.External.Target)...)
			target := &m.External.Target
			errs = append(errs, requiredTarget(p.Child("target", "averageValue"), target.Value, target.AverageValue, "must set either a target value for metric or a per-pod target")...)
			if target.Value != nil && target.AverageValue != nil {
				errs = append(errs, field.Forbidden(p.Child("target", "value"), "may not set both a target value for metric and a per-pod target"))
			}
			return errs
		}},
		{autoscalingv2.PodsMetricSourceType, "pods", m.Pods != nil, func(p *field.Path) field.ErrorList {
			errs := validateMetricIdentifier(p.Child("metric"), &m.Pods.Metric)
			errs = append(errs, validateMetricTarget(p.Child("target"), &m.Pods.Target)...)
			if v := m.Pods.Target.AverageValue; v == nil || v.Sign() != 1 {
				errs = append(errs, field.Required(p.Child("target", "averageValue"), "must specify a positive target averageValue"))
			}
			return errs
		}},
		{autoscalingv2.ResourceMetricSourceType, "resource", m.Resource != nil, func(p *field.Path) field.ErrorList {
			return validateResourceMetric(p, string(m.Resource.Name), &m.Resource.Target)
		}},
		{autoscalingv2.ContainerResourceMetricSourceType, "containerResource", m.ContainerResource != nil, func(p *field.Path) field.ErrorList {
			errs := validateResourceMetric(p, string(m.ContainerResource.Name), &m.ContainerResource.Target)
			if m.ContainerResource.Container == "" {
				errs = append(errs, field.Required(p.Child("container"), "must specify a container"))
			}
			return errs
		}},
	}
}

func validateMetric(p *field.Path, m *autoscalingv2.MetricSpec) field.ErrorList {
	if m.Type == "" {
		return field.ErrorList{field.Required(p.Child("type"), "must specify a metric source type")}
	}
	sources := metricSources(m)
	errs := oneOf(p.Child("type"), m.Type, autoscalingv2.ContainerResourceMetricSourceType, autoscalingv2.ExternalMetricSourceType,
		autoscalingv2.ObjectMetricSourceType, autoscalingv2.PodsMetricSourceType, autoscalingv2.ResourceMetricSourceType)
	several := false
	for _, s := range sources {
		if !s.set {
			if s.of == m.Type {
				errs = append(errs, field.Required(p.Child(s.name), "must populate information for the given metric source"))
			}
			continue
		}
		if several {
			errs = append(errs, field.Forbidden(p.Child(s.name), "may only set one field per metric source type"))
			continue
		}
		several = true
		errs = append(errs, s.validate(p.Child(s.name))...)
	}
	return errs
}

func validateMetricIdentifier(p *field.Path, id *autoscalingv2.MetricIdentifier) field.ErrorList {
	errs := requiredOr(p.Child("name"), id.Name, path.IsValidPathSegmentName)
	if id.Selector != nil {
		errs = append(errs, validateSelector(p.Child("selector"), id.Selector)...)
	}
	return errs
}

func validateMetricTarget(p *field.Path, t *autoscalingv2.MetricTarget) field.ErrorList {
	if t.Type == "" {
		return field.ErrorList{field.Required(p.Child("type"), "must specify a metric target type")}
	}
	var errs field.ErrorList
	switch t.Type {
	case autoscalingv2.UtilizationMetricType, autoscalingv2.ValueMetricType, autoscalingv2.AverageValueMetricType:
	default:
		errs = append(errs, field.Invalid(p.Child("type"), t.Type, "must be either Utilization, Value, or AverageValue"))
	}
	if t.Value != nil && t.Value.Sign() != 1 {
		errs = append(errs, field.Invalid(p.Child("value"), t.Value, "must be positive"))
	}
	if t.AverageValue != nil && t.AverageValue.Sign() != 1 {
		errs = append(errs, field.Invalid(p.Child("averageValue"), t.AverageValue, "must be positive"))
	}
	if t.AverageUtilization != nil && *t.AverageUtilization < 1 {
		errs = append(errs, field.Invalid(p.Child("averageUtilization"), t.AverageUtilization, notGreaterThan0))
	}
	return errs
}

func requiredTarget(p *field.Path, value, average *resource.Quantity, message string) field.ErrorList {
	if value == nil && average == nil {
		return field.ErrorList{field.Required(p, message)}
	}
	return nil
}

func validateResourceMetric(p *field.Path, name string, t *autoscalingv2.MetricTarget) field.ErrorList {
	var errs field.ErrorList
	if name == "" {
		errs = append(errs, field.Required(p.Child("name"), "must specify a resource name"))
	}
	errs = append(errs, validateMetricTarget(p.Child("target"), t)...)
	switch {
	case t.AverageUtilization == nil && t.AverageValue == nil:
		errs = append(errs, field.Required(p.Child("target", "averageUtilization"), "must set either a target raw value or a target utilization"))
	case t.AverageUtilization != nil && t.AverageValue != nil:
		errs = append(errs, field.Forbidden(p.Child("target", "averageValue"), "may not set both a target raw value and a target utilization"))
	}
	return errs
}

func validateScalingRules(p *field.Path, r *autoscalingv2.HPAScalingRules) field.ErrorList {
	if r == nil {
		return nil
	}
	errs := nonNegativePointer(p.Child("stabilizationWindowSeconds"), r.StabilizationWindowSeconds)
	if w := r.StabilizationWindowSeconds; w != nil && *w > maxStabilizationWindow {
		errs = append(errs, field.Invalid(p.Child("stabilizationWindowSeconds"), *w, "must be less than or equal to 3600"))
	}
	if s := r.SelectPolicy; s != nil {
		errs = append(errs, oneOf(p.Child("selectPolicy"), *s,
			autoscalingv2.DisabledPolicySelect, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect)...)
	}
	if len(r.Policies) == 0 {
		errs = append(errs, field.Required(p.Child("policies"), "must specify at least one Policy"))
	}
	for i := range r.Policies {
		policy, at := &r.Policies[i], p.Child("policies").Index(i)
		errs = append(errs, oneOf(at.Child("type"), policy.Type, autoscalingv2.PercentScalingPolicy, autoscalingv2.PodsScalingPolicy)...)
		if policy.Value <= 0 {
			errs = append(errs, field.Invalid(at.Child("value"), policy.Value, "must be greater than zero"))
		}
		if policy.PeriodSeconds <= 0 {
			errs = append(errs, field.Invalid(at.Child("periodSeconds"), policy.PeriodSeconds, "must be greater than zero"))
		}
		if policy.PeriodSeconds > maxPolicyPeriod {
			errs = append(errs, field.Invalid(at.Child("periodSeconds"), policy.PeriodSeconds, "must be less than or equal to 1800"))
		}
	}
	if r.Tolerance != nil && r.Tolerance.Sign() < 0 {
		errs = append(errs, field.Invalid(p.Child("tolerance"), r.Tolerance, "must be greater or equal to zero"))
	}
	return errs
}

func HorizontalPodAutoscalerStatus(a, _ *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	p := field.NewPath("status")
	errs := nonNegative(p.Child("currentReplicas"), a.Status.CurrentReplicas)
	return append(errs, nonNegative(p.Child("desiredReplicas"), a.Status.DesiredReplicas)...)
}
