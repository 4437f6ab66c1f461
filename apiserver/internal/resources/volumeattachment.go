package resources

import (
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func volumeAttachmentRow() *Resource {
	kind := storagev1.SchemeGroupVersion.WithKind("VolumeAttachment")
	newAttachment := func() runtime.Object { return &storagev1.VolumeAttachment{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "volumeattachments",
		New:              newAttachment,
		NewList:          func() runtime.Object { return &storagev1.VolumeAttachmentList{} },
		Strategy: Strategy{
			ReturnDeleted:             true,
			StatusKeeps:               allMetadata,
			Validate:                  check(validation.VolumeAttachment),
			ValidateUpdate:            checkUpdate(validation.VolumeAttachmentUpdate),
			ValidateStatusUpdate:      checkUpdate(validation.VolumeAttachmentStatus),
			ForbidUnconditionalUpdate: true,
		},
		Subresources: []Subresource{statusOf(kind, newAttachment)},
	}
}
