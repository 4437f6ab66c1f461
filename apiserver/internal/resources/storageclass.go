package resources

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func storageClassRow() *Resource {
	return &Resource{
		GroupVersionKind: storagev1.SchemeGroupVersion.WithKind("StorageClass"),
		Plural:           "storageclasses",
		ShortNames:       []string{"sc"},
		New:              func() runtime.Object { return &storagev1.StorageClass{} },
		NewList:          func() runtime.Object { return &storagev1.StorageClassList{} },
		Strategy: Strategy{
			ReturnDeleted:  true,
			Default:        on(defaultStorageClass),
			Warnings:       always(warnings.StorageClass),
			Validate:       check(validation.StorageClass),
			ValidateUpdate: checkUpdate(validation.StorageClassUpdate),
		},
	}
}

func defaultStorageClass(c *storagev1.StorageClass) {
	pointDefault(&c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	pointDefault(&c.VolumeBindingMode, storagev1.VolumeBindingImmediate)
}
