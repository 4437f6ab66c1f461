package resources

import (
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
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
			Validate:                  check(validateAttachment),
			ValidateUpdate:            checkUpdate(validateAttachmentUpdate),
			ValidateStatusUpdate:      checkUpdate(validateAttachmentStatus),
			ForbidUnconditionalUpdate: true,
		},
		Subresources: []Subresource{statusOf(kind, newAttachment)},
	}
}

func validateAttachment(a *storagev1.VolumeAttachment) field.ErrorList {
	p, source := field.NewPath("spec"), &a.Spec.Source
	errs := validateDriverName(p.Child("attacher"), a.Spec.Attacher)
	switch {
	case source.InlineVolumeSpec == nil && source.PersistentVolumeName == nil:
		errs = append(errs, field.Required(p.Child("source"), "must specify exactly one of inlineVolumeSpec and persistentVolumeName"))
	case source.InlineVolumeSpec != nil && source.PersistentVolumeName != nil:
		errs = append(errs, field.Forbidden(p.Child("source"), "must specify exactly one of inlineVolumeSpec and persistentVolumeName"))
	case source.PersistentVolumeName != nil:
		errs = append(errs, requiredOr(p.Child("source", "persistentVolumeName"), *source.PersistentVolumeName, isDNSSubdomain)...)
	}
	errs = append(errs, invalidFor(p.Child("nodeName"), a.Spec.NodeName, isDNSSubdomain(a.Spec.NodeName))...)
	return append(errs, validateAttachmentStatus(a, nil)...)
}

const maxVolumeError = 1024

func validateAttachmentStatus(a, _ *storagev1.VolumeAttachment) field.ErrorList {
	p := field.NewPath("status")
	var errs field.ErrorList
	size := 0
	for key, value := range a.Status.AttachmentMetadata {
		size += len(key) + len(value)
	}
	if size > maxParametersSize {
		errs = append(errs, field.TooLong(p.Child("attachmentMetadata"), "", maxParametersSize))
	}
	for _, e := range []struct {
		name  string
		value *storagev1.VolumeError
	}{{"attachError", a.Status.AttachError}, {"detachError", a.Status.DetachError}} {
		if e.value != nil && len(e.value.Message) > maxVolumeError {
			errs = append(errs, field.TooLong(p.Child(e.name, "message"), "", maxVolumeError))
		}
	}
	return errs
}

func validateAttachmentUpdate(a, old *storagev1.VolumeAttachment) field.ErrorList {
	return immutable(field.NewPath("spec"), a.Spec, old.Spec)
}
