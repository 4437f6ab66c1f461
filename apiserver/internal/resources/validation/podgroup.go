package validation

import (
	"fmt"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// PodGroup validates a new pod group.
func PodGroup(g *schedulingv1beta1.PodGroup) field.ErrorList {
	p, spec := field.NewPath("spec"), &g.Spec
	var errs field.ErrorList
	if spec.WorkloadRef != nil {
		errs = append(errs, workloadReference(p.Child("workloadRef"), spec.WorkloadRef)...)
	}
	errs = append(errs, schedulingPolicy(p.Child("schedulingPolicy"), &spec.SchedulingPolicy)...)
	if spec.DisruptionMode == nil {
		errs = append(errs, field.Required(p.Child("disruptionMode"), ""))
	} else {
		errs = append(errs, disruptionMode(p.Child("disruptionMode"), spec.DisruptionMode)...)
	}
	return append(errs, groupPriority(p, spec.PriorityClassName, spec.Priority)...)
}

func workloadReference(p *field.Path, r *schedulingv1beta1.WorkloadReference) field.ErrorList {
	errs := requiredOr(p.Child("workloadName"), r.WorkloadName, isDNSSubdomain)
	return append(errs, requiredOr(p.Child("templateName"), r.TemplateName, isDNSLabel)...)
}

func schedulingPolicy(p *field.Path, s *schedulingv1beta1.PodGroupSchedulingPolicy) field.ErrorList {
	errs := onePolicy(p, s)
	if s.Gang != nil {
		errs = append(errs, gangPolicy(p.Child("gang"), s.Gang)...)
	}
	return errs
}

func onePolicy(p *field.Path, s *schedulingv1beta1.PodGroupSchedulingPolicy) field.ErrorList {
	return oneMember(p, "basic", s.Basic != nil, "gang", s.Gang != nil)
}

// oneMember requires that exactly one of the two members of a union is set.
func oneMember(p *field.Path, first string, hasFirst bool, second string, hasSecond bool) field.ErrorList {
	switch {
	case hasFirst && hasSecond:
		return field.ErrorList{field.Invalid(p, fmt.Sprintf("{%s, %s}", first, second), fmt.Sprintf("must specify exactly one of: `%s`, `%s`", first, second))}
	case !hasFirst && !hasSecond:
		return field.ErrorList{field.Invalid(p, "", fmt.Sprintf("must specify one of: `%s`, `%s`", first, second))}
	}
	return nil
}

func gangPolicy(p *field.Path, g *schedulingv1beta1.GangSchedulingPolicy) field.ErrorList {
	switch p = p.Child("minCount"); {
	case g.MinCount == 0:
		return field.ErrorList{field.Required(p, "")}
	case g.MinCount < 1:
		return field.ErrorList{field.Invalid(p, g.MinCount, "must be greater than or equal to 1")}
	}
	return nil
}

func disruptionMode(p *field.Path, m *schedulingv1beta1.DisruptionMode) field.ErrorList {
	return oneMember(p, "single", m.Single != nil, "all", m.All != nil)
}

// groupPriority validates the priority of a pod group or of a template of one.
func groupPriority(p *field.Path, class string, priority *int32) field.ErrorList {
	errs := optional(p.Child("priorityClassName"), class, isDNSSubdomain)
	if priority != nil && *priority > HighestUserPriority {
		errs = append(errs, field.Invalid(p.Child("priority"), *priority, fmt.Sprintf("must be less than or equal to %d", HighestUserPriority)))
	}
	return errs
}

// PodGroupUpdate lets only the minCount of a pod group change.
func PodGroupUpdate(g, old *schedulingv1beta1.PodGroup) field.ErrorList {
	p, spec, was := field.NewPath("spec"), &g.Spec, &old.Spec
	errs := unchanged(p.Child("workloadRef"), spec.WorkloadRef, was.WorkloadRef)
	errs = append(errs, schedulingPolicyUpdate(p.Child("schedulingPolicy"), &spec.SchedulingPolicy, &was.SchedulingPolicy)...)
	errs = append(errs, unchanged(p.Child("disruptionMode"), spec.DisruptionMode, was.DisruptionMode)...)
	errs = append(errs, unchanged(p.Child("priorityClassName"), spec.PriorityClassName, was.PriorityClassName)...)
	return append(errs, unchanged(p.Child("priority"), spec.Priority, was.Priority)...)
}

// unchanged is immutable with the error of fields that are validated by declarations.
func unchanged(p *field.Path, value, old any) field.ErrorList {
	if equality.Semantic.DeepEqual(value, old) {
		return nil
	}
	return field.ErrorList{field.Invalid(p, nil, fieldImmutable)}
}

// schedulingPolicyUpdate lets the minCount of a gang change, but not the policy.
func schedulingPolicyUpdate(p *field.Path, s, old *schedulingv1beta1.PodGroupSchedulingPolicy) field.ErrorList {
	var errs field.ErrorList
	if (s.Basic == nil) != (old.Basic == nil) || (s.Gang == nil) != (old.Gang == nil) {
		errs = onePolicy(p, s)
	}
	errs = append(errs, unchanged(p.Child("basic"), s.Basic, old.Basic)...)
	gang := p.Child("gang")
	switch {
	case old.Gang == nil && s.Gang != nil:
		errs = append(errs, field.Invalid(gang, nil, "field cannot be set once created"))
	case old.Gang != nil && s.Gang == nil:
		errs = append(errs, field.Invalid(gang, nil, "field cannot be cleared once set"))
	case s.Gang != nil && s.Gang.MinCount != old.Gang.MinCount:
		errs = append(errs, gangPolicy(gang, s.Gang)...)
	}
	return errs
}

// PodGroupStatus validates the conditions of a pod group.
func PodGroupStatus(g, _ *schedulingv1beta1.PodGroup) field.ErrorList {
	return metav1validation.ValidateConditions(g.Status.Conditions, field.NewPath("status", "conditions"))
}
