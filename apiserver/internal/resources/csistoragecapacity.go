package resources

import (
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func csiStorageCapacityRow() *Resource {
	return &Resource{
		GroupVersionKind: storagev1.SchemeGroupVersion.WithKind("CSIStorageCapacity"),
		Plural:           "csistoragecapacities",
		Namespaced:       true,
		New:              func() runtime.Object { return &storagev1.CSIStorageCapacity{} },
		NewList:          func() runtime.Object { return &storagev1.CSIStorageCapacityList{} },
		Strategy: Strategy{
			Warnings:                  always(warnings.CSIStorageCapacity),
			Validate:                  check(validation.CSIStorageCapacity),
			ValidateUpdate:            checkUpdate(validation.CSIStorageCapacityUpdate),
			ForbidUnconditionalUpdate: true,
		},
	}
}
