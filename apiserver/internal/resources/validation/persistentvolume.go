package validation

import (
	"path"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

func PersistentVolume(v *corev1.PersistentVolume) field.ErrorList {
	spec, p := &v.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if len(spec.AccessModes) == 0 {
		errs = append(errs, field.Required(p.Child("accessModes"), ""))
	}
	errs = append(errs, validateAccessModes(p.Child("accessModes"), spec.AccessModes)...)
	errs = append(errs, validateCapacity(p.Child("capacity"), spec.Capacity)...)
	errs = append(errs, oneOf(p.Child("persistentVolumeReclaimPolicy"), spec.PersistentVolumeReclaimPolicy,
		corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle, corev1.PersistentVolumeReclaimRetain)...)
	if spec.NodeAffinity != nil {
		errs = append(errs, validateVolumeNodeAffinity(p.Child("nodeAffinity"), spec.NodeAffinity)...)
	}
	errs = append(errs, validatePersistentSource(p, spec)...)
	if spec.ISCSI != nil {
		errs = append(errs, validatePersistentISCSI(p.Child("iscsi"), spec.ISCSI, v.Name)...)
	}
	errs = append(errs, optional(p.Child("storageClassName"), spec.StorageClassName, isDNSSubdomain)...)
	errs = append(errs, validateVolumeMode(p.Child("volumeMode"), spec.VolumeMode)...)
	if name := spec.VolumeAttributesClassName; name != nil {
		errs = append(errs, requiredOr(p.Child("volumeAttributesClassName"), *name, isDNSSubdomain)...)
		if spec.CSI == nil {
			errs = append(errs, field.Required(p.Child("csi"), "has to be specified when using volumeAttributesClassName"))
		}
	}
	return errs
}

func validateCapacity(p *field.Path, capacity corev1.ResourceList) field.ErrorList {
	var errs field.ErrorList
	if len(capacity) == 0 {
		errs = append(errs, field.Required(p, ""))
	}
	if _, storage := capacity[corev1.ResourceStorage]; !storage || len(capacity) > 1 {
		errs = append(errs, field.NotSupported(p, capacity, []corev1.ResourceName{corev1.ResourceStorage}))
	}
	for _, name := range sortedNames(capacity) {
		errs = append(errs, positiveQuantity(p.Key(string(name)), capacity[name])...)
	}
	return errs
}

func validateVolumeNodeAffinity(p *field.Path, a *corev1.VolumeNodeAffinity) field.ErrorList {
	if a.Required == nil {
		return field.ErrorList{field.Required(p.Child("required"), "must specify required node constraints")}
	}
	if len(a.Required.NodeSelectorTerms) == 0 {
		return field.ErrorList{field.Required(p.Child("required", "nodeSelectorTerms"), "must have at least one node selector term")}
	}
	var errs field.ErrorList
	for i := range a.Required.NodeSelectorTerms {
		errs = append(errs, validateNodeTerm(p.Child("required", "nodeSelectorTerms").Index(i), &a.Required.NodeSelectorTerms[i], false)...)
	}
	return errs
}

// validatePersistentSource requires exactly one source; for sources that only a storage
// driver reads, it checks nothing else.
func validatePersistentSource(p *field.Path, spec *corev1.PersistentVolumeSpec) field.ErrorList {
	var errs field.ErrorList
	sources := 0
	source := reflect.ValueOf(&spec.PersistentVolumeSource).Elem()
	for i := range source.NumField() {
		if source.Field(i).IsNil() {
			continue
		}
		name, _, _ := strings.Cut(source.Type().Field(i).Tag.Get("json"), ",")
		if sources++; sources > 1 {
			errs = append(errs, field.Forbidden(p.Child(name), "may not specify more than 1 volume type"))
		}
	}
	switch {
	case sources == 0:
		errs = append(errs, field.Required(p, "must specify a volume type"))
	case spec.HostPath != nil:
		errs = append(errs, validateHostPath(p.Child("hostPath"), spec.HostPath)...)
		if path.Clean(spec.HostPath.Path) == "/" && spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
			errs = append(errs, field.Forbidden(p.Child("persistentVolumeReclaimPolicy"), "may not be 'recycle' for a hostPath mount of '/'"))
		}
	case spec.Local != nil:
		errs = append(errs, requiredNonEmpty(p.Child("local", "path"), spec.Local.Path)...)
		errs = append(errs, withoutBacksteps(p.Child("local", "path"), spec.Local.Path)...)
		if spec.NodeAffinity == nil {
			errs = append(errs, field.Required(p.Child("nodeAffinity"), "Local volume requires node affinity"))
		}
	case spec.NFS != nil:
		errs = append(errs, requiredNonEmpty(p.Child("nfs", "server"), spec.NFS.Server)...)
		errs = append(errs, requiredNonEmpty(p.Child("nfs", "path"), spec.NFS.Path)...)
		if !path.IsAbs(spec.NFS.Path) {
			errs = append(errs, field.Invalid(p.Child("nfs", "path"), spec.NFS.Path, "must be an absolute path"))
		}
	case spec.CSI != nil:
		errs = append(errs, validateDriverName(p.Child("csi", "driver"), spec.CSI.Driver)...)
		errs = append(errs, requiredNonEmpty(p.Child("csi", "volumeHandle"), spec.CSI.VolumeHandle)...)
		errs = append(errs, validateCSISecrets(p.Child("csi"), spec.CSI)...)
	default:
		errs = append(errs, validatePersistentDriverSource(p, &spec.PersistentVolumeSource)...)
	}
	return errs
}

// maxDriverName is the maximum length of a storage driver's name.
const maxDriverName = 63

func validateDriverName(p *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	var errs field.ErrorList
	if len(name) > maxDriverName {
		errs = append(errs, field.TooLong(p, name, maxDriverName))
	}
	return append(errs, invalidFor(p, name, isDNSSubdomain(strings.ToLower(name)))...)
}

func PersistentVolumeUpdate(v, old *corev1.PersistentVolume) field.ErrorList {
	p := field.NewPath("spec")
	var errs field.ErrorList
	if now, was := v.Spec.CSI, old.Spec.CSI; now != nil && was != nil && was.ControllerExpandSecretRef == nil && now.ControllerExpandSecretRef != nil {
		// This secret may be set later.
		v, old = v.DeepCopy(), old.DeepCopy()
		old.Spec.CSI.ControllerExpandSecretRef = now.ControllerExpandSecretRef
	}
	if !apiequality.Semantic.DeepEqual(v.Spec.PersistentVolumeSource, old.Spec.PersistentVolumeSource) {
		changed := diff.Diff(old.Spec.PersistentVolumeSource, v.Spec.PersistentVolumeSource)
		errs = append(errs, field.Forbidden(p.Child("persistentvolumesource"), "spec.persistentvolumesource is immutable after creation\n"+changed))
	}
	errs = append(errs, immutable(field.NewPath("volumeMode"), v.Spec.VolumeMode, old.Spec.VolumeMode)...)
	// The affinity may be set once.
	if old.Spec.NodeAffinity != nil {
		errs = append(errs, sameNodeAffinity(field.NewPath("nodeAffinity"), v.Spec.NodeAffinity, old.Spec.NodeAffinity)...)
	}
	if !ptr.Equal(v.Spec.VolumeAttributesClassName, old.Spec.VolumeAttributesClassName) && old.Spec.VolumeAttributesClassName != nil && v.Spec.VolumeAttributesClassName == nil {
		errs = append(errs, field.Forbidden(p.Child("volumeAttributesClassName"), "update from non-nil value to nil is forbidden"))
	}
	return errs
}

func sameNodeAffinity(p *field.Path, affinity, was *corev1.VolumeNodeAffinity) field.ErrorList {
	if apiequality.Semantic.DeepEqual(affinity, was) {
		return nil
	}
	return field.ErrorList{field.Invalid(p, affinity, fieldImmutable+", except for updating from beta label to GA")}
}
