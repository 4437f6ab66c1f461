package resources

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func leaseRow() *Resource {
	return &Resource{
		GroupVersionKind: coordinationv1.SchemeGroupVersion.WithKind("Lease"),
		Plural:           "leases",
		Namespaced:       true,
		New:              func() runtime.Object { return &coordinationv1.Lease{} },
		NewList:          func() runtime.Object { return &coordinationv1.LeaseList{} },
		Strategy: Strategy{
			AnyFinalizer:              true,
			Validate:                  check(validation.Lease),
			AllowCreateOnUpdate:       true,
			ForbidUnconditionalUpdate: true,
		},
	}
}
