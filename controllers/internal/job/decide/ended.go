package decide

import (
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
)

// Tracked reports whether the pod has the finalizer, which it loses after it is counted.
func Tracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}

// replacesOnlyFailed reports whether a pod that is being deleted is replaced only after it
// has ended.
func replacesOnlyFailed(job *batchv1.Job) bool {
	policy := job.Spec.PodReplacementPolicy
	return policy != nil && *policy == batchv1.Failed || job.Spec.PodFailurePolicy != nil
}

// failed reports whether the pod counts as failed: its phase is Failed, or it is being
// deleted and will be replaced at once, because it may never reach a final phase.
func failed(job *batchv1.Job, pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodFailed {
		return true
	}
	return !replacesOnlyFailed(job) && pod.DeletionTimestamp != nil && pod.Status.Phase != corev1.PodSucceeded
}

// finishTime returns the time at which the pod succeeded or failed. It uses the first of
// these that is known: the end of its containers, the time at which it became unready, its
// deletion, its creation.
func finishTime(pod *corev1.Pod) time.Time {
	var last time.Time
	for i := range pod.Status.ContainerStatuses {
		ended := pod.Status.ContainerStatuses[i].State.Terminated
		if ended == nil || ended.FinishedAt.IsZero() {
			last = time.Time{}
			break
		}
		if ended.FinishedAt.After(last) {
			last = ended.FinishedAt.Time
		}
	}
	if !last.IsZero() {
		return last
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	if pod.DeletionTimestamp != nil {
		// The timestamp is the end of the grace period.
		at := pod.DeletionTimestamp.Time
		if grace := pod.DeletionGracePeriodSeconds; grace != nil {
			at = at.Add(-time.Duration(*grace) * time.Second)
		}
		return at
	}
	return pod.CreationTimestamp.Time
}

// Differs reports whether two states of a pod differ in a field that a decision reads.
func Differs(old, pod *corev1.Pod) bool {
	return old.Status.Phase != pod.Status.Phase ||
		controllerref.Ready(old) != controllerref.Ready(pod) ||
		(old.DeletionTimestamp == nil) != (pod.DeletionTimestamp == nil) ||
		Tracked(old) != Tracked(pod) ||
		restarts(old) != restarts(pod) ||
		len(old.Status.Conditions) != len(pod.Status.Conditions) ||
		!maps.Equal(old.Labels, pod.Labels) ||
		controllerref.ControllerUID(old) != controllerref.ControllerUID(pod)
}
