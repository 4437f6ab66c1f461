package decide

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

// Volume returns the next step of a volume. claim is the claim with the name in the volume's
// claimRef; nil: there is none. That a claim is gone must be known from the API, not from a
// cache, because the volume is then released for good. So must a volume that is recycled and has
// no recycler pod: its claimRef may have been removed, and another claim may use it.
func Volume(volume *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim, r Recycling) Step {
	step := volumeOf(volume, claim, r)
	if step.Write == Nothing && !IsRecycled(volume) && r.Recycler != nil {
		forget := Forget(r.Recycler)
		forget.Events = step.Events
		return forget
	}
	return step
}

func volumeOf(volume *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim, r Recycling) Step {
	ref := volume.Spec.ClaimRef
	if ref == nil || ref.UID == "" {
		return volumePhase(volume, corev1.VolumeAvailable, "")
	}
	switch {
	case claim == nil || claim.UID != ref.UID:
		return released(volume, r)
	case claim.Spec.VolumeName == "":
		return unconfirmed(volume, claim)
	case claim.Spec.VolumeName == volume.Name:
		return volumePhase(volume, corev1.VolumeBound, "")
	case metav1.HasAnnotation(volume.ObjectMeta, storagehelpers.AnnDynamicallyProvisioned) && volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete:
		return released(volume, r) // it was provisioned for this claim, which needs it no longer
	}
	return unbind(volume)
}

// unconfirmed is for a volume whose claim does not name it yet: the claim's steps will do so,
// unless the modes of the two are different.
func unconfirmed(volume *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) Step {
	if !storagehelpers.CheckVolumeModeMismatches(&claim.Spec, &volume.Spec) {
		return Step{}
	}
	return Step{Events: []Event{
		event(volume, corev1.EventTypeWarning, "VolumeMismatch", fmt.Sprintf("Cannot bind PersistentVolume to requested PersistentVolumeClaim %q due to incompatible volumeMode.", claim.Name)),
		event(claim, corev1.EventTypeWarning, "VolumeMismatch", fmt.Sprintf("Cannot bind PersistentVolume %q to requested PersistentVolumeClaim due to incompatible volumeMode.", volume.Name)),
	}}
}

// unbind frees a volume whose claim has another one. What the controller has written into the
// claimRef is removed; a name that a user has written there stays.
func unbind(volume *corev1.PersistentVolume) Step {
	changed := volume.DeepCopy()
	if metav1.HasAnnotation(volume.ObjectMeta, storagehelpers.AnnBoundByController) {
		changed.Spec.ClaimRef = nil
		delete(changed.Annotations, storagehelpers.AnnBoundByController)
	} else {
		changed.Spec.ClaimRef.UID = ""
	}
	return Step{Write: Update, Object: changed}
}

// released makes a volume Released, and then reclaims it. A volume that has Failed stays so.
func released(volume *corev1.PersistentVolume, r Recycling) Step {
	switch {
	case volume.Status.Phase == corev1.VolumeFailed:
		return Step{}
	case volume.Status.Phase != corev1.VolumeReleased:
		return volumePhase(volume, corev1.VolumeReleased, "")
	}
	switch volume.Spec.PersistentVolumeReclaimPolicy {
	case corev1.PersistentVolumeReclaimRecycle:
		return recycle(volume, r)
	case corev1.PersistentVolumeReclaimDelete:
		return remove(volume)
	}
	return Step{}
}

// remove deletes a released volume for which upstream has a deleter: a host path beneath a
// directory /tmp. The others wait for their provisioner, or have failed.
func remove(volume *corev1.PersistentVolume) Step {
	by := volume.Annotations[storagehelpers.AnnDynamicallyProvisioned]
	path := volume.Spec.HostPath
	switch {
	case volume.DeletionTimestamp != nil:
		return Step{}
	case by != "" && !strings.HasPrefix(by, inTree):
		return Step{} // by its provisioner
	case path == nil:
		return failed(volume, "VolumeFailedDelete", fmt.Sprintf("error getting deleter volume plugin for volume %q: no deletable volume plugin matched", volume.Name))
	}
	if _, name, found := strings.Cut(path.Path, "/tmp/"); !found || name == "" {
		return failed(volume, "VolumeFailedDelete", "host_path deleter only supports /tmp/.+ but received provided "+path.Path)
	}
	return Step{Write: Delete, Object: volume}
}

func failed(volume *corev1.PersistentVolume, reason, message string) Step {
	step := volumePhase(volume, corev1.VolumeFailed, message)
	step.Events = []Event{event(volume, corev1.EventTypeWarning, reason, message)}
	return step
}
