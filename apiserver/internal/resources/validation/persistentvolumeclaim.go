package validation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const notPositive = "must be greater than zero"

// accessModes are all access modes, in the order in which errors list them.
var accessModes = []corev1.PersistentVolumeAccessMode{
	corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod,
}

func PersistentVolumeClaim(claim *corev1.PersistentVolumeClaim) field.ErrorList {
	return validateClaimSpec(field.NewPath("spec"), &claim.Spec)
}

func validateClaimSpec(p *field.Path, spec *corev1.PersistentVolumeClaimSpec) field.ErrorList {
	var errs field.ErrorList
	if spec.Selector != nil {
		errs = append(errs, validateSelector(p.Child("selector"), spec.Selector)...)
	}
	if len(spec.AccessModes) == 0 {
		errs = append(errs, field.Required(p.Child("accessModes"), "at least 1 access mode is required"))
	}
	errs = append(errs, validateAccessModes(p.Child("accessModes"), spec.AccessModes)...)
	at := p.Child("resources").Key(string(corev1.ResourceStorage))
	if size, asked := spec.Resources.Requests[corev1.ResourceStorage]; asked {
		errs = append(errs, positiveQuantity(at, size)...)
	} else {
		errs = append(errs, field.Required(at, ""))
	}
	errs = append(errs, optional(p.Child("storageClassName"), deref(spec.StorageClassName), isDNSSubdomain)...)
	errs = append(errs, validateVolumeMode(p.Child("volumeMode"), spec.VolumeMode)...)
	errs = append(errs, validateDataSources(p, spec)...)
	return append(errs, optional(p.Child("volumeAttributesClassName"), deref(spec.VolumeAttributesClassName), isDNSSubdomain)...)
}

func validateAccessModes(p *field.Path, modes []corev1.PersistentVolumeAccessMode) field.ErrorList {
	var errs field.ErrorList
	alone, other := false, false
	for _, mode := range modes {
		errs = append(errs, oneOf(p, mode, accessModes...)...)
		alone = alone || mode == corev1.ReadWriteOncePod
		other = other || mode != corev1.ReadWriteOncePod && slices.Contains(accessModes, mode)
	}
	if alone && other {
		errs = append(errs, field.Forbidden(p, "may not use ReadWriteOncePod with other access modes"))
	}
	return errs
}

func validateVolumeMode(p *field.Path, mode *corev1.PersistentVolumeMode) field.ErrorList {
	if mode == nil {
		return nil
	}
	return oneOf(p, *mode, corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)
}

func positiveQuantity(p *field.Path, quantity resource.Quantity) field.ErrorList {
	if quantity.Sign() <= 0 {
		return field.ErrorList{field.Invalid(p, quantity.String(), notPositive)}
	}
	return nil
}

func validateDataSources(p *field.Path, spec *corev1.PersistentVolumeClaimSpec) field.ErrorList {
	var errs field.ErrorList
	if s := spec.DataSource; s != nil {
		errs = append(errs, validateDataSource(p.Child("dataSource"), s.Name, s.Kind, deref(s.APIGroup))...)
	}
	ref := spec.DataSourceRef
	if ref == nil {
		return errs
	}
	at := p.Child("dataSourceRef")
	errs = append(errs, validateDataSource(at, ref.Name, ref.Kind, deref(ref.APIGroup))...)
	if deref(ref.Namespace) != "" {
		errs = append(errs, invalidFor(at.Child("namespace"), *ref.Namespace, isDNSLabel(*ref.Namespace))...)
		if spec.DataSource != nil {
			errs = append(errs, field.Invalid(p, p.Child("dataSource"), "may not be specified when dataSourceRef.namespace is specified"))
		}
		return errs
	}
	if s := spec.DataSource; s != nil && (s.Kind != ref.Kind || s.Name != ref.Name || deref(s.APIGroup) != deref(ref.APIGroup)) {
		errs = append(errs, field.Invalid(p, p.Child("dataSource"), "must match dataSourceRef"))
	}
	return errs
}

func validateDataSource(p *field.Path, name, kind, group string) field.ErrorList {
	var errs field.ErrorList
	if name == "" {
		errs = append(errs, field.Required(p.Child("name"), ""))
	}
	if kind == "" {
		errs = append(errs, field.Required(p.Child("kind"), ""))
	}
	if group == "" && kind != "PersistentVolumeClaim" {
		errs = append(errs, field.Invalid(p, kind, ""))
	}
	return append(errs, optional(p.Child("apiGroup"), group, isDNSSubdomain)...)
}

// claimImmutable is the error for a forbidden change of a claim.
const claimImmutable = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"

// PersistentVolumeClaimUpdate allows a claim to be bound, a bound one to grow and to change its
// volume attributes class, and one without a class to get the default class.
func PersistentVolumeClaimUpdate(claim, old *corev1.PersistentVolumeClaim) field.ErrorList {
	p := field.NewPath("spec")
	var errs field.ErrorList
	rest, was := claim.Spec.DeepCopy(), old.Spec.DeepCopy()
	if was.VolumeName == "" {
		was.VolumeName = rest.VolumeName
	}
	if was.StorageClassName == nil && rest.StorageClassName != nil && old.Spec.VolumeName == "" {
		was.StorageClassName = rest.StorageClassName
	}
	size, wasSize := rest.Resources.Requests[corev1.ResourceStorage], was.Resources.Requests[corev1.ResourceStorage]
	if claim.Status.Phase == corev1.ClaimBound {
		if rest.Resources.Requests != nil {
			rest.Resources.Requests[corev1.ResourceStorage] = wasSize
		}
		rest.VolumeAttributesClassName = was.VolumeAttributesClassName
	}
	if !apiequality.Semantic.DeepEqual(rest, was) {
		errs = append(errs, field.Forbidden(p, claimImmutable+"\n"+diff.Diff(was, rest)))
	}
	has := old.Status.Capacity[corev1.ResourceStorage]
	if size.Cmp(wasSize) < 0 && size.Cmp(has) <= 0 {
		errs = append(errs, field.Forbidden(p.Child("resources", "requests", "storage"), "field can not be less than status.capacity"))
	}
	errs = append(errs, immutable(field.NewPath("volumeMode"), claim.Spec.VolumeMode, old.Spec.VolumeMode)...)
	if old.Spec.VolumeAttributesClassName != nil && claim.Spec.VolumeAttributesClassName == nil {
		errs = append(errs, field.Forbidden(p.Child("volumeAttributesClassName"), "update from non-nil value to nil is forbidden"))
	}
	return errs
}

func PersistentVolumeClaimStatus(claim, _ *corev1.PersistentVolumeClaim) field.ErrorList {
	p := field.NewPath("status")
	var errs field.ErrorList
	if len(claim.ResourceVersion) == 0 {
		errs = append(errs, field.Required(field.NewPath("metadata", "resourceVersion"), ""))
	}
	if len(claim.Spec.AccessModes) == 0 {
		errs = append(errs, field.Required(field.NewPath("spec", "accessModes"), ""))
	}
	for _, name := range sortedNames(claim.Status.Capacity) {
		errs = append(errs, validateQuantity(p.Child("capacity").Key(string(name)), name, claim.Status.Capacity[name])...)
	}
	for _, state := range claim.Status.AllocatedResourceStatuses {
		errs = append(errs, oneOf(p.Child("allocatedResourceStatuses"), state,
			corev1.PersistentVolumeClaimControllerResizeInProgress, corev1.PersistentVolumeClaimControllerResizeInfeasible,
			corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress, corev1.PersistentVolumeClaimNodeResizeInfeasible)...)
	}
	for _, name := range sortedNames(claim.Status.AllocatedResources) {
		errs = append(errs, validateQuantity(p.Child("allocatedResources").Key(string(name)), name, claim.Status.AllocatedResources[name])...)
	}
	return errs
}
