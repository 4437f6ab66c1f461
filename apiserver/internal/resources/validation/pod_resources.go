package validation

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/internal/resourcename"
)

// validateResources validates the requests and limits of a container.
func validateResources(p *field.Path, r *corev1.ResourceRequirements) field.ErrorList {
	return validateRequirements(p, r, containerResourceName)
}

func containerResourceName(p *field.Path, name corev1.ResourceName) field.ErrorList {
	errs := validateResourceName(p, name)
	if len(errs) == 0 && !strings.Contains(string(name), "/") && !isStandardForContainers(name) {
		errs = append(errs, field.Invalid(p, name, "must be a standard resource for containers"))
	}
	return errs
}

func validateContainerResource(p *field.Path, name corev1.ResourceName, quantity resource.Quantity) field.ErrorList {
	return append(containerResourceName(p, name), validateQuantity(p, name, quantity)...)
}

// validateRequirements is validateResources with the check of resource names as an
// argument.
func validateRequirements(p *field.Path, r *corev1.ResourceRequirements, check func(p *field.Path, name corev1.ResourceName) field.ErrorList) field.ErrorList {
	if len(r.Limits) == 0 && len(r.Requests) == 0 {
		return nil
	}
	var errs field.ErrorList
	hugePages, base := false, false
	limits, requests := p.Child("limits"), p.Child("requests")
	for _, name := range sortedNames(r.Limits) {
		quantity := r.Limits[name]
		errs = append(errs, check(limits.Key(string(name)), name)...)
		errs = append(errs, validateQuantity(limits.Key(string(name)), name, quantity)...)
		hugePages = hugePages || isHugePages(name)
		base = base || name == corev1.ResourceCPU || name == corev1.ResourceMemory
	}
	for _, name := range sortedNames(r.Requests) {
		quantity := r.Requests[name]
		errs = append(errs, check(requests.Key(string(name)), name)...)
		errs = append(errs, validateQuantity(requests.Key(string(name)), name, quantity)...)
		errs = append(errs, validateRequestAgainstLimit(p, name, quantity, r.Limits)...)
		hugePages = hugePages || isHugePages(name)
		base = base || name == corev1.ResourceCPU || name == corev1.ResourceMemory
	}
	if hugePages && !base {
		errs = append(errs, field.Forbidden(p, "HugePages require cpu or memory"))
	}
	return errs
}

// validateRequestAgainstLimit requires a request within its limit, and equal to it for
// resources that cannot be overcommitted.
func validateRequestAgainstLimit(p *field.Path, name corev1.ResourceName, request resource.Quantity, limits corev1.ResourceList) field.ErrorList {
	limit, limited := limits[name]
	whole := isHugePages(name) || resourcename.IsExtended(name)
	switch {
	case limited && whole && request.Cmp(limit) != 0:
		return field.ErrorList{field.Invalid(p.Child("requests"), request.String(), fmt.Sprintf("must be equal to %s limit of %s", name, limit.String()))}
	case limited && !whole && request.Cmp(limit) > 0:
		return field.ErrorList{field.Invalid(p.Child("requests"), request.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String()))}
	case !limited && whole:
		return field.ErrorList{field.Required(p.Child("limits"), "Limit must be set for non overcommitable resources")}
	}
	return nil
}

// validateResourceName requires a known name or one qualified with a domain.
func validateResourceName(p *field.Path, name corev1.ResourceName) field.ErrorList {
	errs := invalidFor(p, name, validation.IsQualifiedName(string(name)))
	if len(errs) == 0 && !strings.Contains(string(name), "/") && !isStandardForContainers(name) && !slices.Contains(otherStandard, name) {
		errs = append(errs, field.Invalid(p, name, "must be a standard resource type or fully qualified"))
	}
	return errs
}

// otherStandard are standard resources that a container cannot request.
var otherStandard = []corev1.ResourceName{corev1.ResourceStorage, corev1.ResourcePods}

func isStandardForContainers(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return true
	}
	return isHugePages(name)
}

func validateQuantity(p *field.Path, name corev1.ResourceName, quantity resource.Quantity) field.ErrorList {
	if quantity.Sign() < 0 {
		return field.ErrorList{field.Invalid(p, quantity.String(), apivalidation.IsNegativeErrorMsg)}
	}
	integer := isHugePages(name) || resourcename.IsExtended(name) || name == corev1.ResourcePods
	if integer && quantity.MilliValue()%1000 != 0 {
		return field.ErrorList{field.Invalid(p, quantity.String(), "must be an integer")}
	}
	return nil
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

func sortedNames(list corev1.ResourceList) []corev1.ResourceName {
	names := make([]corev1.ResourceName, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
