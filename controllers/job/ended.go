package job

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// tracked reports whether the pod is not yet done with: it has the finalizer.
func tracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}

// replacesOnlyFailed reports whether a pod that is being deleted is replaced only
// when it has ended.
func replacesOnlyFailed(job *batchv1.Job) bool {
	policy := job.Spec.PodReplacementPolicy
	return policy != nil && *policy == batchv1.Failed || job.Spec.PodFailurePolicy != nil
}

// failed reports whether the pod is taken for failed: it is, or it is being
// deleted and will be replaced at once, as it may never get to its end.
func failed(job *batchv1.Job, pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodFailed {
		return true
	}
	return !replacesOnlyFailed(job) && pod.DeletionTimestamp != nil && pod.Status.Phase != corev1.PodSucceeded
}

// finishTime is when a pod that has succeeded or failed did so, as well as can be
// told: by its containers, by when it ceased to be ready, by its deletion.
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
		// The timestamp is when the grace period will have ended.
		at := pod.DeletionTimestamp.Time
		if grace := pod.DeletionGracePeriodSeconds; grace != nil {
			at = at.Add(-time.Duration(*grace) * time.Second)
		}
		return at
	}
	return pod.CreationTimestamp.Time
}
