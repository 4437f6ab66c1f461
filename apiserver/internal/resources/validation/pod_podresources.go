package validation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	resourcehelper "k8s.io/component-helpers/resource"
)

// validatePodResources validates pod-level resources (KEP-2837), which must not be less than
// the sum of the containers' resources.
func validatePodResources(p *field.Path, spec *corev1.PodSpec) field.ErrorList {
	r := spec.Resources
	if r == nil {
		return nil
	}
	if spec.OS != nil && spec.OS.Name == corev1.Windows {
		return field.ErrorList{field.Forbidden(p, "may not be set for a windows pod")}
	}
	var errs field.ErrorList
	if r.Claims != nil {
		errs = append(errs, field.Forbidden(p.Child("claims"), "claims may not be set for Resources at pod-level"))
	}
	errs = append(errs, validateRequirements(p, r, validatePodResource)...)
	return append(errs, enoughForContainers(p, spec)...)
}

func validatePodResource(p *field.Path, name corev1.ResourceName) field.ErrorList {
	errs := validateResourceName(p, name)
	if name != corev1.ResourceCPU && name != corev1.ResourceMemory && !isHugePages(name) {
		errs = append(errs, field.NotSupported(p, name, []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceHugePagesPrefix}))
	}
	return errs
}

func enoughForContainers(p *field.Path, spec *corev1.PodSpec) field.ErrorList {
	pod := &corev1.Pod{Spec: *spec}
	var errs field.ErrorList
	requests := resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{})
	for _, name := range sortedNames(requests) {
		needed := requests[name]
		if has, asked := spec.Resources.Requests[name]; asked && needed.Cmp(has) > 0 {
			errs = append(errs, field.Invalid(p.Child("requests").Key(string(name)), has.String(), "must be greater than or equal to aggregate container requests of "+needed.String()))
		}
	}
	limits := resourcehelper.AggregateContainerLimits(pod, resourcehelper.PodResourcesOptions{})
	for _, name := range sortedNames(limits) {
		needed := limits[name]
		if has, limited := spec.Resources.Limits[name]; limited && isHugePages(name) && needed.Cmp(has) > 0 {
			errs = append(errs, field.Invalid(p.Child("limits").Key(string(name)), has.String(), "must be greater than or equal to aggregate container limits of "+needed.String()))
		}
	}
	for i := range spec.Containers {
		own := spec.Containers[i].Resources.Limits
		for _, name := range sortedNames(own) {
			limit := own[name]
			if has, limited := spec.Resources.Limits[name]; limited && limit.Cmp(has) > 0 {
				errs = append(errs, field.Invalid(p.Child("containers").Index(i).Key(string(name)).Child("limits"), limit.String(), "must be less than or equal to pod limits of "+has.String()))
			}
		}
	}
	return errs
}
