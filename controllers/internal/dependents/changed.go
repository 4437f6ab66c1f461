package dependents

import (
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/loop"
)

// Changed returns the pod of an event; ok is false if it is another object, or if the event is an update without a
// difference that matters to its owners. Most updates of a pod that is starting have none.
func Changed(ev loop.Event, differs func(old, now *corev1.Pod) bool) (pod *corev1.Pod, ok bool) {
	pod, ok = ev.Object.(*corev1.Pod)
	old, updated := ev.Old.(*corev1.Pod)
	return pod, ok && (!updated || old.ResourceVersion == pod.ResourceVersion || differs(old, pod))
}
