package validation

import (
	"bytes"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateOwnPods validates that a workload's selector is not empty and matches its
// template.
func validateOwnPods(p *field.Path, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, replicas *int32) field.ErrorList {
	// Upstream uses this text for Deployments and ReplicaSets.
	const empty = "empty selector is invalid for deployment"
	var errs field.ErrorList
	if selector == nil {
		errs = append(errs, field.Required(p.Child("selector"), ""))
	} else {
		errs = append(errs, validateSelector(p.Child("selector"), selector)...)
		if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
			errs = append(errs, field.Invalid(p.Child("selector"), selector, empty))
		}
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return append(errs, field.Invalid(p.Child("selector"), selector, "invalid label selector"))
	}
	at := p.Child("template")
	if !s.Empty() && !s.Matches(labels.Set(template.Labels)) {
		errs = append(errs, field.Invalid(at.Child("metadata", "labels"), template.Labels, "`selector` does not match template `labels`"))
	}
	errs = append(errs, validateTemplate(at, template)...)
	spec := at.Child("spec")
	if template.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		errs = append(errs, field.NotSupported(spec.Child("restartPolicy"), template.Spec.RestartPolicy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if template.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(spec.Child("activeDeadlineSeconds"), "activeDeadlineSeconds in ReplicaSet is not Supported"))
	}
	return append(nonNegativePointer(p.Child("replicas"), replicas), errs...)
}

func ReplicaSet(rs *appsv1.ReplicaSet) field.ErrorList {
	p := field.NewPath("spec")
	errs := nonNegative(p.Child("minReadySeconds"), rs.Spec.MinReadySeconds)
	return append(errs, validateOwnPods(p, rs.Spec.Selector, &rs.Spec.Template, rs.Spec.Replicas)...)
}

func ReplicaSetUpdate(rs, old *appsv1.ReplicaSet) field.ErrorList {
	return immutable(field.NewPath("spec", "selector"), rs.Spec.Selector, old.Spec.Selector)
}

func Deployment(d *appsv1.Deployment) field.ErrorList {
	p := field.NewPath("spec")
	errs := validateOwnPods(p, d.Spec.Selector, &d.Spec.Template, d.Spec.Replicas)
	errs = append(errs, validateDeploymentStrategy(p.Child("strategy"), &d.Spec.Strategy)...)
	errs = append(errs, nonNegative(p.Child("minReadySeconds"), d.Spec.MinReadySeconds)...)
	errs = append(errs, nonNegativePointer(p.Child("revisionHistoryLimit"), d.Spec.RevisionHistoryLimit)...)
	if deadline := d.Spec.ProgressDeadlineSeconds; deadline != nil {
		errs = append(errs, nonNegative(p.Child("progressDeadlineSeconds"), *deadline)...)
		if *deadline <= d.Spec.MinReadySeconds {
			errs = append(errs, field.Invalid(p.Child("progressDeadlineSeconds"), *deadline, "must be greater than minReadySeconds"))
		}
	}
	return errs
}

func DeploymentUpdate(d, old *appsv1.Deployment) field.ErrorList {
	return immutable(field.NewPath("spec", "selector"), d.Spec.Selector, old.Spec.Selector)
}

func validateDeploymentStrategy(p *field.Path, s *appsv1.DeploymentStrategy) field.ErrorList {
	at := p.Child("rollingUpdate")
	switch s.Type {
	case appsv1.RecreateDeploymentStrategyType:
		if s.RollingUpdate != nil {
			return field.ErrorList{field.Forbidden(at, "may not be specified when strategy `type` is 'Recreate'")}
		}
		return nil
	case appsv1.RollingUpdateDeploymentStrategyType:
		if s.RollingUpdate == nil {
			return field.ErrorList{field.Required(at, "this should be defaulted and never be nil")}
		}
		return validateRollingUpdate(at, s.RollingUpdate)
	}
	return field.ErrorList{field.NotSupported(p, s.Type,
		[]appsv1.DeploymentStrategyType{appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType})}
}

func validateRollingUpdate(p *field.Path, r *appsv1.RollingUpdateDeployment) field.ErrorList {
	unavailable, surge := deref(r.MaxUnavailable), deref(r.MaxSurge)
	errs := validateCountOrPercent(p.Child("maxUnavailable"), unavailable)
	errs = append(errs, validateCountOrPercent(p.Child("maxSurge"), surge)...)
	if isZero(unavailable) && isZero(surge) {
		errs = append(errs, field.Invalid(p.Child("maxUnavailable"), unavailable, "may not be 0 when `maxSurge` is 0"))
	}
	if percent, ok := percentOf(unavailable); ok && percent > 100 {
		errs = append(errs, field.Invalid(p.Child("maxUnavailable"), unavailable, "must not be greater than 100%"))
	}
	return errs
}

func validateCountOrPercent(p *field.Path, value intstr.IntOrString) field.ErrorList {
	if value.Type == intstr.Int {
		return nonNegative(p, value.IntVal)
	}
	if len(validation.IsValidPercent(value.StrVal)) > 0 {
		return field.ErrorList{field.Invalid(p, value, "must be an integer or percentage (e.g '5%%')")}
	}
	return nil
}

// isZero reports whether a valid value is zero.
func isZero(value intstr.IntOrString) bool {
	percent, ok := percentOf(value)
	return ok && percent == 0 || !ok && value.IntVal == 0
}

func percentOf(value intstr.IntOrString) (percent int, ok bool) {
	if value.Type != intstr.String || len(validation.IsValidPercent(value.StrVal)) > 0 {
		return 0, false
	}
	_, err := fmt.Sscanf(value.StrVal, "%d%%", &percent)
	return percent, err == nil
}

// count is a number in a workload's status.
type count struct {
	name  string
	value int32
}

// validateCounts requires that no number of a status is negative, and that none of
// parts exceeds whole.
func validateCounts(whole count, parts ...count) field.ErrorList {
	p := field.NewPath("status")
	errs := nonNegative(p.Child(whole.name), whole.value)
	for _, part := range parts {
		errs = append(errs, nonNegative(p.Child(part.name), part.value)...)
	}
	for _, part := range parts {
		if part.value > whole.value {
			errs = append(errs, field.Invalid(p.Child(part.name), part.value, "cannot be greater than status."+whole.name))
		}
	}
	return errs
}

func ReplicaSetStatus(rs, _ *appsv1.ReplicaSet) field.ErrorList {
	s, p := &rs.Status, field.NewPath("status")
	errs := validateCounts(count{"replicas", s.Replicas},
		count{"fullyLabeledReplicas", s.FullyLabeledReplicas}, count{"readyReplicas", s.ReadyReplicas}, count{"availableReplicas", s.AvailableReplicas})
	errs = append(errs, nonNegative(p.Child("observedGeneration"), s.ObservedGeneration)...)
	errs = append(errs, nonNegativePointer(p.Child("terminatingReplicas"), s.TerminatingReplicas)...)
	return append(errs, availableWithinReady(p, s.AvailableReplicas, s.ReadyReplicas)...)
}

func DeploymentStatus(d, old *appsv1.Deployment) field.ErrorList {
	s, p := &d.Status, field.NewPath("status")
	errs := nonNegative(p.Child("observedGeneration"), s.ObservedGeneration)
	errs = append(errs, validateCounts(count{"replicas", s.Replicas},
		count{"updatedReplicas", s.UpdatedReplicas}, count{"readyReplicas", s.ReadyReplicas}, count{"availableReplicas", s.AvailableReplicas})...)
	errs = append(errs, nonNegative(p.Child("unavailableReplicas"), s.UnavailableReplicas)...)
	errs = append(errs, nonNegativePointer(p.Child("terminatingReplicas"), s.TerminatingReplicas)...)
	errs = append(errs, availableWithinReady(p, s.AvailableReplicas, s.ReadyReplicas)...)
	if c, was := s.CollisionCount, old.Status.CollisionCount; was != nil {
		if c == nil || *c < *was {
			errs = append(errs, field.Invalid(p.Child("collisionCount"), c, "cannot be decremented"))
		}
	}
	return append(errs, nonNegativePointer(p.Child("collisionCount"), s.CollisionCount)...)
}

func availableWithinReady(p *field.Path, available, ready int32) field.ErrorList {
	if available > ready {
		return field.ErrorList{field.Invalid(p.Child("availableReplicas"), available, "cannot be greater than readyReplicas")}
	}
	return nil
}

func ControllerRevisionCreate(r *appsv1.ControllerRevision) field.ErrorList {
	if len(r.Data.Raw) == 0 && r.Data.Object == nil {
		return field.ErrorList{field.Required(field.NewPath("data"), "data is mandatory")}
	}
	if raw := bytes.TrimSpace(r.Data.Raw); len(raw) > 0 && raw[0] != '{' { // the body was valid JSON
		if string(raw) == "null" {
			return field.ErrorList{field.Required(field.NewPath("data"), "data is mandatory")}
		}
		return field.ErrorList{field.Required(field.NewPath("data"), "data must be a valid JSON object")}
	}
	return nil
}

func ControllerRevisionUpdate(r, old *appsv1.ControllerRevision) field.ErrorList {
	return immutable(field.NewPath("data"), r.Data, old.Data)
}

func ControllerRevision(r *appsv1.ControllerRevision) field.ErrorList {
	return nonNegative(field.NewPath("revision"), r.Revision)
}
