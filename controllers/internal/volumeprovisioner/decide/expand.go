package decide

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

// Expands reports whether a bound claim requests more storage than it has, and its volume can
// get it: the simulated provisioner has created the volume, and the class allows expansion.
func Expands(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume, class *storagev1.StorageClass) bool {
	if claim.Status.Phase != corev1.ClaimBound || claim.DeletionTimestamp != nil || volume == nil || !Serves(class) {
		return false
	}
	ref := volume.Spec.ClaimRef
	return ref != nil && ref.UID == claim.UID && volume.Annotations[storagehelpers.AnnDynamicallyProvisioned] == class.Provisioner &&
		class.AllowVolumeExpansion != nil && *class.AllowVolumeExpansion && missing(claim, claim.Status.Capacity) > 0
}

// missing returns how much more storage a claim requests than a capacity has, in bytes.
func missing(claim *corev1.PersistentVolumeClaim, capacity corev1.ResourceList) int64 {
	more := claim.Spec.Resources.Requests[corev1.ResourceStorage].DeepCopy()
	more.Sub(capacity[corev1.ResourceStorage])
	return more.Value()
}

// ExpandedVolume returns the volume with the storage that the claim requests; nil: it has it.
func ExpandedVolume(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) *corev1.PersistentVolume {
	if missing(claim, volume.Spec.Capacity) <= 0 {
		return nil
	}
	changed := volume.DeepCopy()
	changed.Spec.Capacity[corev1.ResourceStorage] = claim.Spec.Resources.Requests[corev1.ResourceStorage]
	return changed
}

// ExpandingClaim returns the claim with a status that reports the expansion of its volume to the
// requested size; nil: the status reports it already.
func ExpandingClaim(claim *corev1.PersistentVolumeClaim, now time.Time) *corev1.PersistentVolumeClaim {
	request := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	resizes := slices.ContainsFunc(claim.Status.Conditions, isResizing)
	if allocated, ok := claim.Status.AllocatedResources[corev1.ResourceStorage]; ok && allocated.Equal(request) && resizes &&
		claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage] == corev1.PersistentVolumeClaimControllerResizeInProgress {
		return nil
	}
	changed := claim.DeepCopy()
	changed.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{
		corev1.ResourceStorage: corev1.PersistentVolumeClaimControllerResizeInProgress,
	}
	changed.Status.AllocatedResources = corev1.ResourceList{corev1.ResourceStorage: request}
	if !resizes {
		changed.Status.Conditions = append(changed.Status.Conditions, corev1.PersistentVolumeClaimCondition{
			Type: corev1.PersistentVolumeClaimResizing, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now),
		})
	}
	return changed
}

func isResizing(c corev1.PersistentVolumeClaimCondition) bool {
	return c.Type == corev1.PersistentVolumeClaimResizing && c.Status == corev1.ConditionTrue
}

// ExpandedClaim returns the claim with the capacity of its expanded volume in its status.
func ExpandedClaim(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) *corev1.PersistentVolumeClaim {
	changed := claim.DeepCopy()
	changed.Status.AllocatedResourceStatuses = nil
	changed.Status.Conditions = slices.DeleteFunc(changed.Status.Conditions, isResizing)
	if changed.Status.Capacity == nil {
		changed.Status.Capacity = corev1.ResourceList{}
	}
	changed.Status.Capacity[corev1.ResourceStorage] = volume.Spec.Capacity[corev1.ResourceStorage]
	return changed
}

// More returns a claim for the storage that an expansion adds, for Fits.
func More(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) *corev1.PersistentVolumeClaim {
	changed := claim.DeepCopy()
	changed.Spec.Resources.Requests[corev1.ResourceStorage] = *resource.NewQuantity(max(missing(claim, volume.Spec.Capacity), 0), resource.BinarySI)
	return changed
}
