package replicaset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/owned"
)

var controllerOfPod = loop.ControllerOf(Kind.GroupKind())

// OnReplicaSet wakes the ReplicaSet itself.
func (r *Reconciler) OnReplicaSet(ev loop.Event) []types.NamespacedName {
	r.expectations.ObserveOwner(ev)
	return loop.Self(ev)
}

// OnPod wakes the ReplicaSet that controls a pod, or all that an orphan
// could belong to.
func (r *Reconciler) OnPod(ev loop.Event) []types.NamespacedName {
	r.expectations.Observe(ev)
	pod, ok := ev.Object.(*corev1.Pod)
	if !ok || !matters(ev, pod) {
		return nil
	}
	keys := controllerOfPod(ev)
	if ev.Type != loop.Deleted && metav1.GetControllerOfNoCopy(pod) == nil {
		keys = append(keys, r.matching(pod)...)
	}
	return keys
}

// matters reports whether a ReplicaSet would see the difference: most updates of
// a pod on its way to running are none of its business.
func matters(ev loop.Event, pod *corev1.Pod) bool {
	old, ok := ev.Old.(*corev1.Pod)
	if !ok || old.ResourceVersion == pod.ResourceVersion {
		return true
	}
	return owned.Differs(old, pod)
}

// matching returns the ReplicaSets whose selector matches an orphan.
func (r *Reconciler) matching(pod *corev1.Pod) []types.NamespacedName {
	return owned.Adopters(pod, r.replicaSets.ReplicaSets(pod.Namespace).List, func(owner *appsv1.ReplicaSet) *metav1.LabelSelector { return owner.Spec.Selector })
}
