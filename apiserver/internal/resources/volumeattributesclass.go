package resources

import (
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func volumeAttributesClassRow() *Resource {
	return &Resource{
		GroupVersionKind: storagev1.SchemeGroupVersion.WithKind("VolumeAttributesClass"),
		Plural:           "volumeattributesclasses",
		ShortNames:       []string{"vac"},
		New:              func() runtime.Object { return &storagev1.VolumeAttributesClass{} },
		NewList:          func() runtime.Object { return &storagev1.VolumeAttributesClassList{} },
		Strategy: Strategy{
			ReturnDeleted:  true,
			Validate:       check(validation.VolumeAttributesClass),
			ValidateUpdate: checkUpdate(validation.VolumeAttributesClassUpdate),
		},
	}
}
