package decide

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/ephemeral"
)

// Finalizer is upstream's finalizer of claims.
const Finalizer = "kubernetes.io/pvc-protection"

// Condition returns the condition Unused to write to a claim; nil: it does not change. pods are
// the pods in its namespace.
func Condition(claim *corev1.PersistentVolumeClaim, pods []*corev1.Pod, now time.Time) *corev1.PersistentVolumeClaimCondition {
	if claim.DeletionTimestamp != nil || claim.Status.Phase != corev1.ClaimBound {
		return nil
	}
	return unused(claim, slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return !ended(pod) && refers(pod, claim, false) }), now)
}

// InUse reports whether one of the pods keeps a claim from being deleted.
func InUse(claim *corev1.PersistentVolumeClaim, pods []*corev1.Pod) bool {
	return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return uses(pod, claim) })
}

// uses reports whether a pod keeps a claim from being deleted. A pod without a node does
// not: a kubelet does not start a pod whose claim is being deleted.
func uses(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	return pod.Spec.NodeName != "" && refers(pod, claim, true)
}

// refers reports whether a pod names the claim, or owns it as an ephemeral volume. If
// unlessShutDown is set, a pod that has been shut down does not own one.
func refers(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim, unlessShutDown bool) bool {
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		switch {
		case volume.PersistentVolumeClaim != nil && volume.PersistentVolumeClaim.ClaimName == claim.Name:
			return true
		case volume.Ephemeral != nil && ephemeral.VolumeClaimName(pod, volume) == claim.Name && ephemeral.VolumeIsForPod(pod, claim) == nil:
			if !unlessShutDown || !shutDown(pod) {
				return true
			}
		}
	}
	return false
}

// shutDown reports whether a pod is being deleted and none of its containers runs.
func shutDown(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0
}

// ended reports whether no container of a pod will run again.
func ended(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return true
	}
	return pod.DeletionTimestamp != nil && !slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Terminated == nil && s.State.Waiting == nil
	})
}

// unused returns the condition Unused, or nil if the status of the claim's is right.
func unused(claim *corev1.PersistentVolumeClaim, used bool, now time.Time) *corev1.PersistentVolumeClaimCondition {
	wanted := corev1.PersistentVolumeClaimCondition{
		Type: corev1.PersistentVolumeClaimUnused, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now),
		Reason: "NoPodsUsingPVC", Message: "No pods are currently referencing this PVC",
	}
	if used {
		wanted.Status, wanted.Reason, wanted.Message = corev1.ConditionFalse, "PodUsingPVC", "A pod is currently referencing this PVC"
	}
	for _, c := range claim.Status.Conditions {
		if c.Type == wanted.Type && (c.Status == wanted.Status || used && c.Status != corev1.ConditionTrue) {
			return nil
		}
	}
	return &wanted
}
