package decide

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

// bind returns the first step of a binding that is not done yet. The volume's reference to
// the claim comes first: it decides between claims that want one volume.
func bind(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) (Step, error) {
	referring, changed, err := storagehelpers.GetBindVolumeToClaim(volume, claim)
	if err != nil {
		return Step{}, fmt.Errorf("binding volume %s to claim %s/%s: %w", volume.Name, claim.Namespace, claim.Name, err)
	}
	if changed {
		return Step{Write: Update, Object: referring}, nil
	}
	if step := volumePhase(volume, corev1.VolumeBound, ""); step.Write != Nothing {
		return step, nil
	}
	if claim.Spec.VolumeName != volume.Name || !metav1.HasAnnotation(claim.ObjectMeta, storagehelpers.AnnBindCompleted) {
		naming := claim.DeepCopy()
		if naming.Spec.VolumeName != volume.Name {
			naming.Spec.VolumeName = volume.Name
			metav1.SetMetaDataAnnotation(&naming.ObjectMeta, storagehelpers.AnnBoundByController, "yes")
		}
		metav1.SetMetaDataAnnotation(&naming.ObjectMeta, storagehelpers.AnnBindCompleted, "yes")
		return Step{Write: Update, Object: naming}, nil
	}
	return boundStatus(claim, volume), nil
}

// boundStatus makes a claim Bound. The capacity is the volume's when the claim becomes Bound;
// later the expansion of the volume determines it.
func boundStatus(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) Step {
	changed := claim.DeepCopy()
	changed.Status.AccessModes = volume.Spec.AccessModes
	if claim.Status.Phase != corev1.ClaimBound {
		changed.Status.Phase = corev1.ClaimBound
		changed.Status.Capacity = volume.Spec.Capacity
		changed.Status.CurrentVolumeAttributesClassName = volume.Spec.VolumeAttributesClassName
	}
	return claimStatus(claim, changed)
}

// lost makes a claim Lost and reports it once.
func lost(claim *corev1.PersistentVolumeClaim, reason, message string) Step {
	step := withoutVolume(claim, corev1.ClaimLost)
	if claim.Status.Phase != corev1.ClaimLost {
		step.Events = []Event{event(claim, corev1.EventTypeWarning, reason, message)}
	}
	return step
}

// pending makes a claim Pending; if it is so already, it returns then.
func pending(claim *corev1.PersistentVolumeClaim, then Step) Step {
	if step := withoutVolume(claim, corev1.ClaimPending); step.Write != Nothing {
		return step
	}
	return then
}

// withoutVolume gives a claim a phase, and removes the volume's properties from its status.
func withoutVolume(claim *corev1.PersistentVolumeClaim, phase corev1.PersistentVolumeClaimPhase) Step {
	changed := claim.DeepCopy()
	changed.Status.Phase = phase
	changed.Status.AccessModes, changed.Status.Capacity, changed.Status.CurrentVolumeAttributesClassName = nil, nil, nil
	return claimStatus(claim, changed)
}

func claimStatus(claim, changed *corev1.PersistentVolumeClaim) Step {
	if apiequality.Semantic.DeepEqual(claim.Status, changed.Status) {
		return Step{}
	}
	return Step{Write: UpdateStatus, Object: changed}
}

// volumePhase gives a volume a phase, and a message if it changes the phase.
func volumePhase(volume *corev1.PersistentVolume, phase corev1.PersistentVolumePhase, message string) Step {
	if volume.Status.Phase == phase {
		return Step{}
	}
	changed := volume.DeepCopy()
	changed.Status.Phase, changed.Status.Message = phase, message
	return Step{Write: UpdateStatus, Object: changed}
}
