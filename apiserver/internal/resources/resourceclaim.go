package resources

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func resourceClaimRow() *Resource {
	kind := resourcev1.SchemeGroupVersion.WithKind("ResourceClaim")
	newClaim := func() runtime.Object { return &resourcev1.ResourceClaim{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "resourceclaims",
		Namespaced:       true,
		New:              newClaim,
		NewList:          func() runtime.Object { return &resourcev1.ResourceClaimList{} },
		Strategy: Strategy{
			ReturnDeleted:        true,
			StatusKeeps:          allMetadata,
			Default:              on(func(c *resourcev1.ResourceClaim) { defaultDeviceRequests(c.Spec.Devices.Requests) }),
			ValidateCreate:       check(validation.ResourceClaim),
			ValidateUpdate:       checkUpdate(validation.ResourceClaimUpdate),
			PrepareStatusUpdate:  onUpdate(dropDeallocated),
			ValidateStatusUpdate: checkUpdate(validation.ResourceClaimStatus),
		},
		Subresources: []Subresource{statusWithoutTable(kind, newClaim)},
	}
}

func resourceClaimTemplateRow() *Resource {
	return &Resource{
		GroupVersionKind: resourcev1.SchemeGroupVersion.WithKind("ResourceClaimTemplate"),
		Plural:           "resourceclaimtemplates",
		Namespaced:       true,
		New:              func() runtime.Object { return &resourcev1.ResourceClaimTemplate{} },
		NewList:          func() runtime.Object { return &resourcev1.ResourceClaimTemplateList{} },
		Strategy: Strategy{
			ReturnDeleted:  true,
			Default:        on(func(t *resourcev1.ResourceClaimTemplate) { defaultDeviceRequests(t.Spec.Spec.Devices.Requests) }),
			Validate:       check(validation.ResourceClaimTemplate),
			ValidateUpdate: checkUpdate(validation.ResourceClaimTemplateUpdate),
		},
	}
}

func defaultDeviceRequests(requests []resourcev1.DeviceRequest) {
	for i := range requests {
		if r := requests[i].Exactly; r != nil {
			defaultAllocation(&r.AllocationMode, &r.Count, r.Tolerations)
		}
		for j := range requests[i].FirstAvailable {
			r := &requests[i].FirstAvailable[j]
			defaultAllocation(&r.AllocationMode, &r.Count, r.Tolerations)
		}
	}
}

func defaultAllocation(mode *resourcev1.DeviceAllocationMode, devices *int64, tolerations []resourcev1.DeviceToleration) {
	setDefault(mode, resourcev1.DeviceAllocationModeExactCount)
	if *mode == resourcev1.DeviceAllocationModeExactCount {
		setDefault(devices, 1)
	}
	for i := range tolerations {
		setDefault(&tolerations[i].Operator, resourcev1.DeviceTolerationOpEqual)
	}
}
