package owned

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Active reports whether the pod counts for its owner: it has neither ended nor
// is it being deleted.
func Active(pod *corev1.Pod) bool { return !Ended(pod) && pod.DeletionTimestamp == nil }

// Ended reports whether the pod has run to its end.
func Ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Terminating reports whether the pod is being deleted and has not yet ended.
func Terminating(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil && !Ended(pod) }

// ReadySince returns since when the pod has been ready; false if it is not.
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

// Available reports whether the pod has been ready for minReadySeconds. If it is
// ready but not yet for that long, the duration says how long it lacks.
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

// Differs reports whether the controller of a pod would see the difference between two
// states of it: most updates of a pod on its way to running are none of its business.
func Differs(old, pod *corev1.Pod) bool {
	wasSince, wasReady := ReadySince(old)
	since, ready := ReadySince(pod)
	return wasReady != ready || !wasSince.Equal(since) ||
		old.Status.Phase != pod.Status.Phase ||
		(old.DeletionTimestamp == nil) != (pod.DeletionTimestamp == nil) ||
		!maps.Equal(old.Labels, pod.Labels) ||
		ControllerUID(old) != ControllerUID(pod)
}
