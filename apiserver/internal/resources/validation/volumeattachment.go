package validation

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func VolumeAttachment(a *storagev1.VolumeAttachment) field.ErrorList {
	p, source := field.NewPath("spec"), &a.Spec.Source
	errs := validateDriverName(p.Child("attacher"), a.Spec.Attacher)
	switch {
	case source.InlineVolumeSpec == nil && source.PersistentVolumeName == nil:
		errs = append(errs, field.Required(p.Child("source"), "must specify exactly one of inlineVolumeSpec and persistentVolumeName"))
	case source.InlineVolumeSpec != nil && source.PersistentVolumeName != nil:
		errs = append(errs, field.Forbidden(p.Child("source"), "must specify exactly one of inlineVolumeSpec and persistentVolumeName"))
	case source.PersistentVolumeName != nil:
		at, name := p.Child("source", "persistentVolumeName"), *source.PersistentVolumeName
		errs = append(errs, requiredNonEmpty(at, name)...)
		errs = append(errs, invalidFor(at, name, isDNSSubdomain(name))...)
	default:
		errs = append(errs, validateInlineVolume(p.Child("source", "inlineVolumeSpec"), source.InlineVolumeSpec)...)
	}
	errs = append(errs, invalidFor(p.Child("nodeName"), a.Spec.NodeName, isDNSSubdomain(a.Spec.NodeName))...)
	return append(errs, VolumeAttachmentStatus(a, nil)...)
}

// validateInlineVolume validates the volume of a pod that was converted from an in-tree
// driver's: with the rules for a PersistentVolume, without fields that only claims need.
func validateInlineVolume(p *field.Path, spec *corev1.PersistentVolumeSpec) field.ErrorList {
	var errs field.ErrorList
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"capacity", spec.Capacity != nil},
		{"claimRef", spec.ClaimRef != nil},
		{"persistentVolumeReclaimPolicy", spec.PersistentVolumeReclaimPolicy != ""},
		{"storageClassName", spec.StorageClassName != ""},
		{"volumeMode", spec.VolumeMode != nil},
		{"volumeAttributesClassName", spec.VolumeAttributesClassName != nil},
	} {
		if f.set {
			errs = append(errs, field.Forbidden(p.Child(f.name), "may not be specified in the context of inline volumes"))
		}
	}
	if len(spec.AccessModes) == 0 {
		errs = append(errs, field.Required(p.Child("accessModes"), ""))
	}
	errs = append(errs, validateAccessModes(p.Child("accessModes"), spec.AccessModes)...)
	if spec.NodeAffinity != nil {
		errs = append(errs, validateVolumeNodeAffinity(p.Child("nodeAffinity"), spec.NodeAffinity)...)
	}
	if spec.CSI == nil {
		errs = append(errs, field.Required(p.Child("csi"), "CSIPersistentVolumeSource must be specified in the context of inline volumes"))
	}
	return append(errs, validatePersistentSource(p, spec)...)
}

const maxVolumeError = 1024

func VolumeAttachmentStatus(a, _ *storagev1.VolumeAttachment) field.ErrorList {
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
		if e.value == nil {
			continue
		}
		if code := e.value.ErrorCode; code != nil && *code < 0 {
			errs = append(errs, field.Invalid(p.Child(e.name, "errorCode"), *code, validation.InclusiveRangeError(0, math.MaxInt32)))
		}
		if len(e.value.Message) > maxVolumeError {
			errs = append(errs, field.TooLong(p.Child(e.name, "message"), "", maxVolumeError))
		}
	}
	return errs
}

func VolumeAttachmentUpdate(a, old *storagev1.VolumeAttachment) field.ErrorList {
	return immutable(field.NewPath("spec"), a.Spec, old.Spec)
}
