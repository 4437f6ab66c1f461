package controllerref

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Active reports whether the pod counts for its owner: it has not ended and is not being
// deleted.
func Active(pod *corev1.Pod) bool { return !Ended(pod) && pod.DeletionTimestamp == nil }

// Ended reports whether the pod's phase is Succeeded or Failed.
func Ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Terminating reports whether the pod is being deleted and has not yet ended.
func Terminating(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil && !Ended(pod) }

// ReadySince returns the time since which the pod has been ready; false if it is not ready.
func ReadySince(pod *corev1.Pod) (time.Time, bool) {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}

// Ready reports whether the pod is ready.
func Ready(pod *corev1.Pod) bool {
	_, ready := ReadySince(pod)
	return ready
}

// Available reports whether the pod has been ready for minReadySeconds. If it is ready but
// not for that long yet, the duration is the remaining time.
func Available(pod *corev1.Pod, minReadySeconds int32, now time.Time) (bool, time.Duration) {
	since, ready := ReadySince(pod)
	if !ready {
		return false, 0
	}
	if minReadySeconds == 0 {
		return true, 0
	}
	if since.IsZero() {
		return false, 0
	}
	lacks := since.Add(time.Duration(minReadySeconds) * time.Second).Sub(now)
	return lacks <= 0, max(lacks, 0)
}

// Differs reports whether two states of a pod differ in a field that its controller reads. Most
// updates of a pod that is starting do not.
func Differs(old, pod *corev1.Pod) bool {
	wasSince, wasReady := ReadySince(old)
	since, ready := ReadySince(pod)
	return wasReady != ready || !wasSince.Equal(since) ||
		old.Status.Phase != pod.Status.Phase ||
		(old.DeletionTimestamp == nil) != (pod.DeletionTimestamp == nil) ||
		!maps.Equal(old.Labels, pod.Labels) ||
		ControllerUID(old) != ControllerUID(pod)
}
