package columns

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// PersistentVolumeClaim is the Table of core/v1 PersistentVolumeClaims.
func PersistentVolumeClaim() Table {
	spec, status := corev1.PersistentVolumeClaimSpec{}.SwaggerDoc(), corev1.PersistentVolumeClaimStatus{}.SwaggerDoc()
	return table(func(c *corev1.PersistentVolumeClaim, now time.Time) []any {
		capacity, modes := "", ""
		if c.Spec.VolumeName != "" {
			modes = shortAccessModes(c.Status.AccessModes)
			capacity = storageOf(c.Status.Capacity)
		}
		return []any{
			c.Name, goingOr(c.DeletionTimestamp != nil, string(c.Status.Phase)), c.Spec.VolumeName, capacity, modes,
			className(c.Annotations, deref(c.Spec.StorageClassName)),
			orElse(deref(c.Spec.VolumeAttributesClassName), unset), age(c.CreationTimestamp, now),
			volumeMode(c.Spec.VolumeMode),
		}
	},
		nameColumn(),
		text("Status", status["phase"]),
		text("Volume", spec["volumeName"]),
		text("Capacity", status["capacity"]),
		text("Access Modes", status["accessModes"]),
		text("StorageClass", spec["storageClassName"]),
		text("VolumeAttributesClass", spec["volumeAttributesClassName"]),
		ageColumn(),
		wide(text("VolumeMode", spec["volumeMode"])),
	)
}

// PersistentVolume is the Table of core/v1 PersistentVolumes.
func PersistentVolume() Table {
	spec, status := corev1.PersistentVolumeSpec{}.SwaggerDoc(), corev1.PersistentVolumeStatus{}.SwaggerDoc()
	return table(func(v *corev1.PersistentVolume, now time.Time) []any {
		claim := ""
		if ref := v.Spec.ClaimRef; ref != nil {
			claim = ref.Namespace + "/" + ref.Name
		}
		return []any{
			v.Name, storageOf(v.Spec.Capacity), shortAccessModes(v.Spec.AccessModes),
			string(v.Spec.PersistentVolumeReclaimPolicy), goingOr(v.DeletionTimestamp != nil, string(v.Status.Phase)), claim,
			className(v.Annotations, v.Spec.StorageClassName),
			orElse(deref(v.Spec.VolumeAttributesClassName), unset), v.Status.Reason, age(v.CreationTimestamp, now),
			volumeMode(v.Spec.VolumeMode),
		}
	},
		nameColumn(),
		text("Capacity", spec["capacity"]),
		text("Access Modes", spec["accessModes"]),
		text("Reclaim Policy", spec["persistentVolumeReclaimPolicy"]),
		text("Status", status["phase"]),
		text("Claim", spec["claimRef"]),
		text("StorageClass", spec["storageClassName"]),
		text("VolumeAttributesClass", spec["volumeAttributesClassName"]),
		text("Reason", status["reason"]),
		ageColumn(),
		wide(text("VolumeMode", spec["volumeMode"])),
	)
}

// shortAccessModes returns "RWO,ROX", each mode once.
func shortAccessModes(modes []corev1.PersistentVolumeAccessMode) string {
	var short []string
	for _, m := range []struct {
		mode corev1.PersistentVolumeAccessMode
		text string
	}{
		{corev1.ReadWriteOnce, "RWO"},
		{corev1.ReadOnlyMany, "ROX"},
		{corev1.ReadWriteMany, "RWX"},
		{corev1.ReadWriteOncePod, "RWOP"},
	} {
		if slices.Contains(modes, m.mode) {
			short = append(short, m.text)
		}
	}
	return strings.Join(short, ",")
}

func storageOf(list corev1.ResourceList) string {
	size := list[corev1.ResourceStorage]
	return size.String()
}

// className returns the annotation that preceded the field, or else the field.
func className(annotations map[string]string, name string) string {
	if old, set := annotations[corev1.BetaStorageClassAnnotation]; set {
		return old
	}
	return name
}

func volumeMode(mode *corev1.PersistentVolumeMode) string {
	return orElse(string(deref(mode)), unset)
}

// goingOr returns the phase of a volume or claim, or "Terminating" if it is being
// deleted.
func goingOr(going bool, phase string) string {
	if going {
		return "Terminating"
	}
	return phase
}
