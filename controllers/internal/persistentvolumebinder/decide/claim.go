package decide

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"
)

// Claimed is a claim and the inputs of its binding.
type Claimed struct {
	Claim *corev1.PersistentVolumeClaim
	// Volume is the volume that the claim names; nil: it names none, or one that does not
	// exist.
	Volume *corev1.PersistentVolume
	// Candidates contains at least the volumes of the claim's class without a claimRef and the
	// volumes whose claimRef has the claim's name, sorted by name. It is needed for a claim
	// that names no volume.
	Candidates []*corev1.PersistentVolume
	// Classes are all storage classes. They are needed like Candidates.
	Classes []*storagev1.StorageClass
}

// Claim returns the next step towards the binding of a claim. A claim without the annotation
// pv.kubernetes.io/bind-completed looks for a volume; one with it keeps its volume, or is
// Lost.
func Claim(c Claimed) (Step, error) {
	switch {
	case metav1.HasAnnotation(c.Claim.ObjectMeta, storagehelpers.AnnBindCompleted):
		return completed(c.Claim, c.Volume)
	case c.Claim.Spec.VolumeName != "":
		return named(c.Claim, c.Volume)
	}
	return unbound(c)
}

// completed keeps a bound claim bound.
func completed(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) (Step, error) {
	switch {
	case claim.Spec.VolumeName == "":
		return lost(claim, "ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"), nil
	case volume == nil:
		return lost(claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!"), nil
	case volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.UID == claim.UID:
		return bind(claim, volume)
	}
	return lost(claim, "ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly"), nil
}

// named binds a claim to the volume that its author has chosen.
func named(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) (Step, error) {
	if volume == nil {
		return pending(claim, Step{}), nil
	}
	if volume.Spec.ClaimRef == nil {
		if problem := mismatch(claim, volume); problem != "" {
			return pending(claim, warn(claim, "VolumeMismatch", fmt.Sprintf("Cannot bind to requested volume %q: %s", volume.Name, problem))), nil
		}
		return bind(claim, volume)
	}
	if storagehelpers.IsVolumeBoundToClaim(volume, claim) {
		return bind(claim, volume)
	}
	return pending(claim, warn(claim, "FailedBinding", fmt.Sprintf("volume %q already bound to a different claim.", volume.Name))), nil
}

// mismatch returns the reason why a volume does not satisfy a claim that names it; empty if it
// does. The selector of such a claim is ignored.
func mismatch(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) string {
	has, wants := volume.Spec.Capacity[corev1.ResourceStorage], claim.Spec.Resources.Requests[corev1.ResourceStorage]
	switch {
	case volume.DeletionTimestamp != nil:
		return fmt.Sprintf("the volume is marked for deletion %q", volume.Name)
	case has.Cmp(wants) < 0:
		return "requested PV is too small"
	case storagehelpers.GetPersistentVolumeClass(volume) != storagehelpers.GetPersistentVolumeClaimClass(claim):
		return "storageClassName does not match"
	case ptr.Deref(volume.Spec.VolumeAttributesClassName, "") != ptr.Deref(claim.Spec.VolumeAttributesClassName, ""):
		return "VolumeAttributesClassName does not match"
	case storagehelpers.CheckVolumeModeMismatches(&claim.Spec, &volume.Spec):
		return "incompatible volumeMode"
	case !storagehelpers.CheckAccessModes(claim, volume):
		return "incompatible accessMode"
	}
	return ""
}

// unbound looks for a volume for a claim that names none.
func unbound(c Claimed) (Step, error) {
	class := classOf(c.Claim, c.Classes)
	delayed := class != nil && class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer &&
		!storagehelpers.IsDelayBindingProvisioning(c.Claim)
	volume, err := bestMatch(c.Claim, c.Candidates, delayed)
	if err != nil {
		return Step{}, err
	}
	if volume != nil {
		return bind(c.Claim, volume)
	}
	if name := missingClass(c.Claim, c.Classes); name != "" {
		changed := c.Claim.DeepCopy()
		changed.Spec.StorageClassName = &name
		return Step{Write: Update, Object: changed}, nil
	}
	switch name := storagehelpers.GetPersistentVolumeClaimClass(c.Claim); {
	case delayed:
		return pending(c.Claim, report(c.Claim, corev1.EventTypeNormal, "WaitForFirstConsumer", "waiting for first consumer to be created before binding")), nil
	case name != "":
		return provision(c.Claim, name, class), nil
	}
	return pending(c.Claim, report(c.Claim, corev1.EventTypeNormal, "FailedBinding", "no persistent volumes available for this claim and no storage class is set")), nil
}
