package resources

import (
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
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
