package resources

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/resources/validation"
)

func resourcePoolStatusRequestRow() *Resource {
	kind := resourcev1alpha3.SchemeGroupVersion.WithKind("ResourcePoolStatusRequest")
	newRequest := func() runtime.Object { return &resourcev1alpha3.ResourcePoolStatusRequest{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "resourcepoolstatusrequests",
		New:              newRequest,
		NewList:          func() runtime.Object { return &resourcev1alpha3.ResourcePoolStatusRequestList{} },
		Strategy: Strategy{
			ReturnDeleted: true,
			StatusKeeps:   allMetadata,
			Default: on(func(r *resourcev1alpha3.ResourcePoolStatusRequest) {
				pointDefault(&r.Spec.Limit, resourcev1alpha3.ResourcePoolStatusRequestLimitDefault)
			}),
			ValidateCreate:            check(validation.ResourcePoolStatusRequest),
			ValidateUpdate:            checkUpdate(validation.ResourcePoolStatusRequestUpdate),
			ValidateStatusUpdate:      checkUpdate(validation.ResourcePoolStatusRequestStatus),
			ForbidUnconditionalUpdate: true,
		},
		Subresources: []Subresource{statusOf(kind, newRequest)},
	}
}

// dropPartitionTypes makes the row drop the attribute that says how devices are partitioned, as upstream does
// while the feature gate DRAPartitionableDevicesType is off. An object that has one keeps it.
func (r *Resource) dropPartitionTypes() {
	switch r.GroupVersionKind {
	case resourcev1.SchemeGroupVersion.WithKind("ResourceSlice"):
		r.prepareFirst(func(obj, old runtime.Object) {
			if s, ok := old.(*resourcev1.ResourceSlice); !ok || s.Spec.PartitionTypeAttribute == nil {
				obj.(*resourcev1.ResourceSlice).Spec.PartitionTypeAttribute = nil
			}
		})
	case resourcev1alpha3.SchemeGroupVersion.WithKind("ResourcePoolStatusRequest"):
		r.prepareFirst(func(obj, old runtime.Object) {
			if q, ok := old.(*resourcev1alpha3.ResourcePoolStatusRequest); !ok || q.Spec.DefaultPartitionTypeAttribute == nil {
				obj.(*resourcev1alpha3.ResourcePoolStatusRequest).Spec.DefaultPartitionTypeAttribute = nil
			}
		})
	}
}
