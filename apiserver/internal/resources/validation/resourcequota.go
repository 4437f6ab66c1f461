package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func ResourceQuota(q *corev1.ResourceQuota) field.ErrorList {
	p := field.NewPath("spec")
	errs := validateQuotaList(p.Child("hard"), q.Spec.Hard)
	errs = append(errs, validateScopes(p.Child("scopes"), q.Spec.Scopes, q.Spec.Hard)...)
	return append(errs, validateScopeSelector(p.Child("scopeSelector"), q.Spec.ScopeSelector, q.Spec.Hard)...)
}

func validateQuotaList(p *field.Path, list corev1.ResourceList) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sortedNames(list) {
		at := p.Key(string(name))
		nameErrs := invalidFor(at, name, isQualifiedName(string(name)))
		if len(nameErrs) == 0 && !strings.Contains(string(name), "/") && !isStandardForQuota(name) {
			nameErrs = field.ErrorList{field.Invalid(at, name, "must be a standard resource for quota")}
		}
		errs = append(errs, nameErrs...)
		quantity := list[name]
		errs = append(errs, validateQuantity(at, name, quantity)...)
		if isCount(name) && quantity.Sign() >= 0 && quantity.MilliValue()%1000 != 0 {
			errs = append(errs, field.Invalid(at, quantity.String(), "must be an integer"))
		}
	}
	return errs
}

// countedObjects are the resources that are numbers of objects.
var countedObjects = []corev1.ResourceName{
	corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices, corev1.ResourceReplicationControllers,
	corev1.ResourceSecrets, corev1.ResourcePersistentVolumeClaims, corev1.ResourceConfigMaps,
	corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers,
}

// isCount reports whether a resource is a number of objects that validateQuantity does
// not know.
func isCount(name corev1.ResourceName) bool {
	return name != corev1.ResourcePods && slices.Contains(countedObjects, name)
}

var computeResources = []corev1.ResourceName{
	corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
	corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage,
	corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage,
}

func isStandardForQuota(name corev1.ResourceName) bool {
	return slices.Contains(computeResources, name) || slices.Contains(countedObjects, name) || name == corev1.ResourceRequestsStorage ||
		isHugePages(name) || strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix)
}

var quotaScopes = []corev1.ResourceQuotaScope{
	corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating,
	corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort,
	corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity,
	corev1.ResourceQuotaScopeVolumeAttributesClass,
}

// scopeCovers reports whether the objects that a scope selects can use a resource.
func scopeCovers(scope corev1.ResourceQuotaScope, name corev1.ResourceName) bool {
	switch scope {
	case corev1.ResourceQuotaScopeBestEffort:
		return name == corev1.ResourcePods
	case corev1.ResourceQuotaScopeVolumeAttributesClass:
		return name == corev1.ResourcePersistentVolumeClaims || name == corev1.ResourceRequestsStorage
	}
	return name == corev1.ResourcePods || slices.Contains(computeResources, name)
}

func validateScopes(p *field.Path, scopes []corev1.ResourceQuotaScope, hard corev1.ResourceList) field.ErrorList {
	var errs field.ErrorList
	for _, scope := range scopes {
		if !slices.Contains(quotaScopes, scope) {
			errs = append(errs, field.Invalid(p, scopes, "unsupported scope"))
		}
		for _, name := range sortedNames(hard) {
			if isStandardForQuota(name) && !scopeCovers(scope, name) {
				errs = append(errs, field.Invalid(p, scopes, "unsupported scope applied to resource"))
			}
		}
	}
	for _, pair := range [][2]corev1.ResourceQuotaScope{
		{corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort},
		{corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating},
	} {
		if slices.Contains(scopes, pair[0]) && slices.Contains(scopes, pair[1]) {
			errs = append(errs, field.Invalid(p, scopes, "conflicting scopes"))
		}
	}
	return errs
}

func validateScopeSelector(p *field.Path, selector *corev1.ScopeSelector, hard corev1.ResourceList) field.ErrorList {
	if selector == nil {
		return nil
	}
	var errs field.ErrorList
	at := p.Child("matchExpressions")
	for _, r := range selector.MatchExpressions {
		if !slices.Contains(quotaScopes, r.ScopeName) {
			errs = append(errs, field.Invalid(at.Child("scopeName"), r.ScopeName, "unsupported scope"))
		}
		for _, name := range sortedNames(hard) {
			if slices.Contains(quotaScopes, r.ScopeName) && isStandardForQuota(name) && !scopeCovers(r.ScopeName, name) {
				errs = append(errs, field.Invalid(at, selector, "unsupported scope applied to resource"))
			}
		}
		byExistence := r.ScopeName != corev1.ResourceQuotaScopePriorityClass && r.ScopeName != corev1.ResourceQuotaScopeVolumeAttributesClass
		if slices.Contains(quotaScopes, r.ScopeName) && byExistence && r.Operator != corev1.ScopeSelectorOpExists {
			errs = append(errs, field.Invalid(at.Child("operator"), r.Operator, "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"))
		}
		switch r.Operator {
		case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
			if len(r.Values) == 0 {
				errs = append(errs, field.Required(at.Child("values"), "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"))
			}
		case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
			if len(r.Values) != 0 {
				errs = append(errs, field.Invalid(at.Child("values"), r.Values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"))
			}
		default:
			errs = append(errs, field.Invalid(at.Child("operator"), r.Operator, "not a valid selector operator"))
		}
	}
	return errs
}

func ResourceQuotaUpdate(q, old *corev1.ResourceQuota) field.ErrorList {
	if sets.New(q.Spec.Scopes...).Equal(sets.New(old.Spec.Scopes...)) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "scopes"), q.Spec.Scopes, fieldImmutable)}
}

func ResourceQuotaStatus(q, _ *corev1.ResourceQuota) field.ErrorList {
	p := field.NewPath("status")
	errs := validateQuotaList(p.Child("hard"), q.Status.Hard)
	return append(errs, validateQuotaList(p.Child("used"), q.Status.Used)...)
}
