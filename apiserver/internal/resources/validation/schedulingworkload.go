package validation

import (
	"slices"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// SchedulingWorkload validates a new Workload of scheduling.k8s.io.
func SchedulingWorkload(w *schedulingv1beta1.Workload) field.ErrorList {
	p, spec := field.NewPath("spec"), &w.Spec
	errs := samePriorities(p, spec.PodGroupTemplates)
	if len(spec.PodGroupTemplates) == 0 {
		errs = append(errs, field.Invalid(p, "", "must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`"))
	}
	if r := spec.ControllerRef; r != nil {
		at := p.Child("controllerRef")
		errs = append(errs, optional(at.Child("apiGroup"), r.APIGroup, isDNSSubdomain)...)
		errs = append(errs, requiredOr(at.Child("kind"), r.Kind, path.IsValidPathSegmentName)...)
		errs = append(errs, requiredOr(at.Child("name"), r.Name, path.IsValidPathSegmentName)...)
	}
	at := p.Child("podGroupTemplates")
	if n := len(spec.PodGroupTemplates); n > schedulingv1beta1.WorkloadMaxPodGroupTemplates {
		return append(errs, field.TooMany(at, n, schedulingv1beta1.WorkloadMaxPodGroupTemplates))
	}
	errs = append(errs, uniqueTemplates(at, spec.PodGroupTemplates)...)
	for i := range spec.PodGroupTemplates {
		errs = append(errs, podGroupTemplate(at.Index(i), &spec.PodGroupTemplates[i])...)
	}
	return errs
}

// samePriorities requires that the pod groups of a workload have one priority.
func samePriorities(p *field.Path, templates []schedulingv1beta1.PodGroupTemplate) field.ErrorList {
	differs := func(t schedulingv1beta1.PodGroupTemplate) bool {
		first := templates[0]
		return t.PriorityClassName != first.PriorityClassName || (t.Priority == nil) != (first.Priority == nil) || deref(t.Priority) != deref(first.Priority)
	}
	if slices.ContainsFunc(templates, differs) {
		return field.ErrorList{field.Invalid(p, nil, "detected multiple priority configurations")}
	}
	return nil
}

// uniqueTemplates returns an error for each template whose name an earlier one has.
func uniqueTemplates(p *field.Path, templates []schedulingv1beta1.PodGroupTemplate) field.ErrorList {
	var errs field.ErrorList
	for i := range templates {
		if templateNamed(templates[:i], templates[i].Name) != nil {
			errs = append(errs, field.Duplicate(p.Index(i), templates[i]))
		}
	}
	return errs
}

func templateNamed(templates []schedulingv1beta1.PodGroupTemplate, name string) *schedulingv1beta1.PodGroupTemplate {
	for i := range templates {
		if templates[i].Name == name {
			return &templates[i]
		}
	}
	return nil
}

func podGroupTemplate(p *field.Path, t *schedulingv1beta1.PodGroupTemplate) field.ErrorList {
	errs := requiredOr(p.Child("name"), t.Name, isDNSLabel)
	errs = append(errs, schedulingPolicy(p.Child("schedulingPolicy"), &t.SchedulingPolicy)...)
	if t.DisruptionMode != nil {
		errs = append(errs, disruptionMode(p.Child("disruptionMode"), t.DisruptionMode)...)
	}
	return append(errs, groupPriority(p, t.PriorityClassName, t.Priority)...)
}

// SchedulingWorkloadUpdate lets only the minCounts of a workload's templates change.
func SchedulingWorkloadUpdate(w, old *schedulingv1beta1.Workload) field.ErrorList {
	p, templates, was := field.NewPath("spec"), w.Spec.PodGroupTemplates, old.Spec.PodGroupTemplates
	errs := samePriorities(p, templates)
	if len(templates) == 0 && len(was) > 0 {
		errs = append(errs, field.Invalid(p, "", "must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`"))
	}
	errs = append(errs, unchanged(p.Child("controllerRef"), w.Spec.ControllerRef, old.Spec.ControllerRef)...)
	at := p.Child("podGroupTemplates")
	changed := sameTemplates(at, templates, was)
	if n := len(templates); n > schedulingv1beta1.WorkloadMaxPodGroupTemplates {
		changed = append(field.ErrorList{field.TooMany(at, n, schedulingv1beta1.WorkloadMaxPodGroupTemplates)}, changed...)
	}
	if len(changed) > 0 {
		return append(errs, changed...)
	}
	errs = append(errs, uniqueTemplates(at, templates)...)
	for i := range templates {
		errs = append(errs, podGroupTemplateUpdate(at.Index(i), &templates[i], templateNamed(was, templates[i].Name))...)
	}
	return errs
}

// sameTemplates forbids that templates are added or removed.
func sameTemplates(p *field.Path, templates, was []schedulingv1beta1.PodGroupTemplate) field.ErrorList {
	var errs field.ErrorList
	for i := range templates {
		if templateNamed(was, templates[i].Name) == nil {
			errs = append(errs, field.Forbidden(p.Index(i), "item may not be added"))
		}
	}
	for i := range was {
		if templateNamed(templates, was[i].Name) == nil {
			errs = append(errs, field.Forbidden(p, "item may not be removed"))
		}
	}
	return errs
}

func podGroupTemplateUpdate(p *field.Path, t, old *schedulingv1beta1.PodGroupTemplate) field.ErrorList {
	errs := schedulingPolicyUpdate(p.Child("schedulingPolicy"), &t.SchedulingPolicy, &old.SchedulingPolicy)
	errs = append(errs, unchanged(p.Child("disruptionMode"), t.DisruptionMode, old.DisruptionMode)...)
	errs = append(errs, unchanged(p.Child("priorityClassName"), t.PriorityClassName, old.PriorityClassName)...)
	return append(errs, unchanged(p.Child("priority"), t.Priority, old.Priority)...)
}
