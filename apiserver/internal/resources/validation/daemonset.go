package validation

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func DaemonSet(d *appsv1.DaemonSet) field.ErrorList {
	spec, p := &d.Spec, field.NewPath("spec")
	at := p.Child("template")
	errs := validateSelector(p.Child("selector"), spec.Selector)
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err == nil && !selector.Matches(labels.Set(spec.Template.Labels)) {
		errs = append(errs, field.Invalid(at.Child("metadata", "labels"), spec.Template.Labels, "`selector` does not match template `labels`"))
	}
	if spec.Selector != nil && len(spec.Selector.MatchLabels)+len(spec.Selector.MatchExpressions) == 0 {
		errs = append(errs, field.Invalid(p.Child("selector"), spec.Selector, "empty selector is invalid for daemonset"))
	}
	errs = append(errs, validateTemplate(at, &spec.Template)...)
	errs = append(errs, alwaysRunning(at.Child("spec"), &spec.Template.Spec, "DaemonSet")...)
	errs = append(errs, nonNegative(p.Child("minReadySeconds"), spec.MinReadySeconds)...)
	errs = append(errs, validateDaemonUpdateStrategy(p.Child("updateStrategy"), &spec.UpdateStrategy)...)
	return append(errs, nonNegativePointer(p.Child("revisionHistoryLimit"), spec.RevisionHistoryLimit)...)
}

func validateDaemonUpdateStrategy(p *field.Path, s *appsv1.DaemonSetUpdateStrategy) field.ErrorList {
	at := p.Child("rollingUpdate")
	switch s.Type {
	case appsv1.OnDeleteDaemonSetStrategyType:
		return nil
	case appsv1.RollingUpdateDaemonSetStrategyType:
		if s.RollingUpdate == nil {
			return field.ErrorList{field.Required(at, "")}
		}
		return validateDaemonRollingUpdate(at, deref(s.RollingUpdate.MaxUnavailable), deref(s.RollingUpdate.MaxSurge))
	}
	return oneOf(p.Child("type"), s.Type, appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType)
}

// validateDaemonRollingUpdate requires exactly one of maxUnavailable and maxSurge.
func validateDaemonRollingUpdate(p *field.Path, unavailable, surge intstr.IntOrString) field.ErrorList {
	errs := validateCountOrPercent(p.Child("maxUnavailable"), unavailable)
	errs = append(errs, validateCountOrPercent(p.Child("maxSurge"), surge)...)
	errs = append(errs, atMostWhole(p.Child("maxUnavailable"), unavailable)...)
	errs = append(errs, atMostWhole(p.Child("maxSurge"), surge)...)
	switch {
	case !isZero(unavailable) && !isZero(surge):
		errs = append(errs, field.Invalid(p.Child("maxSurge"), surge, "may not be set when maxUnavailable is non-zero"))
	case isZero(unavailable) && isZero(surge):
		errs = append(errs, field.Required(p.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0"))
	}
	return errs
}

// atMostWhole rejects more than 100%.
func atMostWhole(p *field.Path, value intstr.IntOrString) field.ErrorList {
	if percent, ok := percentOf(value); ok && percent > 100 {
		return field.ErrorList{field.Invalid(p, value, "must not be greater than 100%")}
	}
	return nil
}

func DaemonSetUpdate(d, old *appsv1.DaemonSet) field.ErrorList {
	return immutable(field.NewPath("spec", "selector"), d.Spec.Selector, old.Spec.Selector)
}

func DaemonSetStatus(d, old *appsv1.DaemonSet) field.ErrorList {
	s, p := &d.Status, field.NewPath("status")
	var errs field.ErrorList
	for _, n := range []count{
		{"currentNumberScheduled", s.CurrentNumberScheduled},
		{"numberMisscheduled", s.NumberMisscheduled},
		{"desiredNumberScheduled", s.DesiredNumberScheduled},
		{"numberReady", s.NumberReady},
	} {
		errs = append(errs, nonNegative(p.Child(n.name), n.value)...)
	}
	errs = append(errs, nonNegative(p.Child("observedGeneration"), s.ObservedGeneration)...)
	for _, n := range []count{
		{"updatedNumberScheduled", s.UpdatedNumberScheduled},
		{"numberAvailable", s.NumberAvailable},
		{"numberUnavailable", s.NumberUnavailable},
	} {
		errs = append(errs, nonNegative(p.Child(n.name), n.value)...)
	}
	return append(errs, validateCollisions(p.Child("collisionCount"), s.CollisionCount, old.Status.CollisionCount)...)
}
