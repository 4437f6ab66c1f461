package validation

import (
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The limits of a token's lifetime, in seconds.
const (
	minTokenSeconds int64 = 10 * 60
	maxTokenSeconds int64 = 1 << 32
)

func CSIDriver(d *storagev1.CSIDriver) field.ErrorList {
	spec, p := &d.Spec, field.NewPath("spec")
	var errs field.ErrorList
	for _, required := range []struct {
		name string
		set  bool
	}{
		{"attachedRequired", spec.AttachRequired != nil},
		{"podInfoOnMount", spec.PodInfoOnMount != nil},
		{"storageCapacity", spec.StorageCapacity != nil},
	} {
		if !required.set {
			errs = append(errs, field.Required(p.Child(required.name), ""))
		}
	}
	errs = append(errs, requiredOneOf(p.Child("fsGroupPolicy"), deref(spec.FSGroupPolicy),
		storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy, storagev1.FileFSGroupPolicy, storagev1.NoneFSGroupPolicy)...)
	errs = append(errs, validateTokenRequests(p.Child("tokenRequests"), spec.TokenRequests)...)
	for i, mode := range spec.VolumeLifecycleModes {
		errs = append(errs, oneOf(p.Child("volumeLifecycleModes").Index(i), mode, storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral)...)
	}
	if seconds := spec.NodeAllocatableUpdatePeriodSeconds; seconds != nil && *seconds < 10 {
		errs = append(errs, field.Invalid(p.Child("nodeAllocatableUpdatePeriodSeconds"), *seconds, "must be greater than or equal to 10 seconds"))
	}
	return errs
}

func validateTokenRequests(p *field.Path, requests []storagev1.TokenRequest) field.ErrorList {
	var errs field.ErrorList
	var audiences nameList
	for i, r := range requests {
		at := p.Index(i)
		errs = append(errs, audiences.add(at.Child("audience"), r.Audience)...)
		if s := r.ExpirationSeconds; s != nil && (*s < minTokenSeconds || *s > maxTokenSeconds) {
			message := "may not specify a duration less than 10 minutes"
			if *s > maxTokenSeconds {
				message = "may not specify a duration larger than 2^32 seconds"
			}
			errs = append(errs, field.Invalid(at.Child("expirationSeconds"), *s, message))
		}
	}
	return errs
}

func CSIDriverUpdate(d, old *storagev1.CSIDriver) field.ErrorList {
	p := field.NewPath("spec")
	errs := immutable(p.Child("attachedRequired"), d.Spec.AttachRequired, old.Spec.AttachRequired)
	return append(errs, immutable(p.Child("volumeLifecycleModes"), d.Spec.VolumeLifecycleModes, old.Spec.VolumeLifecycleModes)...)
}

const maxNodeID = 256

func CSINode(n *storagev1.CSINode) field.ErrorList {
	var errs field.ErrorList
	var names nameList
	for i := range n.Spec.Drivers {
		d, at := &n.Spec.Drivers[i], field.NewPath("spec", "drivers").Index(i)
		errs = append(errs, validateDriverName(at.Child("name"), d.Name)...)
		errs = append(errs, names.add(at.Child("name"), d.Name)...)
		switch {
		case d.NodeID == "":
			errs = append(errs, field.Required(at.Child("nodeID"), ""))
		case len(d.NodeID) > maxNodeID:
			errs = append(errs, field.Invalid(at.Child("nodeID"), d.NodeID, "must be 256 characters or less"))
		}
		if d.Allocatable != nil {
			errs = append(errs, nonNegativePointer(at.Child("allocatable", "count"), d.Allocatable.Count)...)
		}
		var keys nameList
		for _, key := range d.TopologyKeys {
			errs = append(errs, requiredNonEmpty(at, key)...)
			errs = append(errs, keys.add(at, key)...)
			errs = append(errs, invalidFor(at, key, validation.IsQualifiedName(key))...)
		}
	}
	return errs
}

// CSINodeUpdate allows drivers to be added and removed, and the volume count to
// change.
func CSINodeUpdate(n, old *storagev1.CSINode) field.ErrorList {
	var errs field.ErrorList
	for i := range n.Spec.Drivers {
		d := n.Spec.Drivers[i]
		for _, was := range old.Spec.Drivers {
			if d.Name != was.Name {
				continue
			}
			was.Allocatable = d.Allocatable
			if !apiequality.Semantic.DeepEqual(d, was) {
				errs = append(errs, field.Invalid(field.NewPath("spec", "drivers"), d, fieldImmutable))
			}
		}
	}
	return errs
}
