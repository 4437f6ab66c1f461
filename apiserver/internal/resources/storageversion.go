package resources

import (
	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func storageVersionRow() *Resource {
	kind := apiserverinternalv1alpha1.SchemeGroupVersion.WithKind("StorageVersion")
	newVersion := func() runtime.Object { return &apiserverinternalv1alpha1.StorageVersion{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "storageversions",
		New:              newVersion,
		NewList:          func() runtime.Object { return &apiserverinternalv1alpha1.StorageVersionList{} },
		Strategy: Strategy{
			StatusKeeps:               allMetadata,
			NameCheck:                 validation.StorageVersionName,
			ValidateStatusUpdate:      checkUpdate(validation.StorageVersionStatus),
			ForbidUnconditionalUpdate: true,
		},
		Subresources: []Subresource{statusOf(kind, newVersion)},
	}
}
