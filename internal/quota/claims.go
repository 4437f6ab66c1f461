package quota

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	upstream "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

// claims evaluates PersistentVolumeClaims: their storage, in total and by storage class.
type claims struct{ list generic.ListFuncByNamespace }

var claimCount = generic.ObjectCountQuotaResourceNameFor(corev1.Resource("persistentvolumeclaims"))

// classSuffix separates a storage class from the name of the counted resource.
const classSuffix = ".storageclass.storage.k8s.io/"

func toClaim(obj runtime.Object) (*corev1.PersistentVolumeClaim, error) {
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return nil, fmt.Errorf("a %T is no PersistentVolumeClaim", obj)
	}
	return claim, nil
}

// GroupResource implements upstream's Evaluator, as do all methods below.
func (c *claims) GroupResource() schema.GroupResource {
	return corev1.Resource("persistentvolumeclaims")
}

// Constraints requires nothing.
func (c *claims) Constraints([]corev1.ResourceName, runtime.Object) error { return nil }

// Handles reports whether a write can change the usage.
func (c *claims) Handles(a admission.Attributes) bool {
	return a.GetSubresource() == "" && (a.GetOperation() == admission.Create || a.GetOperation() == admission.Update)
}

// Matches reports whether a quota counts the claim.
func (c *claims) Matches(quota *corev1.ResourceQuota, obj runtime.Object) (bool, error) {
	return generic.Matches(quota, obj, c.MatchingResources, claimInScope)
}

// MatchingScopes returns the scopes of the claim.
func (c *claims) MatchingScopes(obj runtime.Object, scopes []corev1.ScopedResourceSelectorRequirement) ([]corev1.ScopedResourceSelectorRequirement, error) {
	return matching(obj, scopes, claimInScope)
}

// UncoveredQuotaScopes returns the limited scopes that no quota covers.
func (c *claims) UncoveredQuotaScopes(limited, matched []corev1.ScopedResourceSelectorRequirement) ([]corev1.ScopedResourceSelectorRequirement, error) {
	return uncovered(limited, matched), nil
}

// MatchingResources returns the names of resources that claims use.
func (c *claims) MatchingResources(names []corev1.ResourceName) []corev1.ResourceName {
	var matched []corev1.ResourceName
	for _, name := range names {
		_, of, ofClass := strings.Cut(string(name), classSuffix)
		if !ofClass {
			of = string(name)
		}
		switch corev1.ResourceName(of) {
		case corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage:
			matched = append(matched, name)
		case claimCount:
			if !ofClass {
				matched = append(matched, name)
			}
		}
	}
	return matched
}

// Usage returns the usage of one claim.
func (c *claims) Usage(obj runtime.Object) (corev1.ResourceList, error) {
	claim, err := toClaim(obj)
	if err != nil {
		return nil, err
	}
	usage := corev1.ResourceList{claimCount: one(), corev1.ResourcePersistentVolumeClaims: one()}
	if storage, asked := claim.Spec.Resources.Requests[corev1.ResourceStorage]; asked {
		if allocated, has := claim.Status.AllocatedResources[corev1.ResourceStorage]; has && allocated.Cmp(storage) > 0 {
			storage = allocated
		}
		storage = storage.DeepCopy()
		storage.RoundUp(0)
		usage[corev1.ResourceRequestsStorage] = storage
	}
	if class := storagehelpers.GetPersistentVolumeClaimClass(claim); class != "" {
		for _, name := range []corev1.ResourceName{corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage} {
			if quantity, has := usage[name]; has {
				usage[corev1.ResourceName(class+classSuffix)+name] = quantity
			}
		}
	}
	return usage, nil
}

// UsageStats returns the total usage of a namespace's claims.
func (c *claims) UsageStats(options upstream.UsageStatsOptions) (upstream.UsageStats, error) {
	return generic.CalculateUsageStats(options, c.list, claimInScope, c.Usage)
}

func claimInScope(selector corev1.ScopedResourceSelectorRequirement, obj runtime.Object) (bool, error) {
	claim, err := toClaim(obj)
	if err != nil || selector.ScopeName != corev1.ResourceQuotaScopeVolumeAttributesClass {
		return false, err
	}
	var names []string
	for _, name := range []*string{claim.Spec.VolumeAttributesClassName, claim.Status.CurrentVolumeAttributesClassName} {
		if name != nil && *name != "" {
			names = append(names, *name)
		}
	}
	if m := claim.Status.ModifyVolumeStatus; m != nil && m.TargetVolumeAttributesClassName != "" {
		names = append(names, m.TargetVolumeAttributesClassName)
	}
	if len(names) == 0 {
		names = append(names, "")
	}
	return selects(selector, names...)
}
