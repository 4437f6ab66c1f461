package deployment

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/dependents"
	"minikcm.dev/minikcm/controllers/internal/deployment/decide"
	"minikcm.dev/minikcm/internal/loop"
)

var (
	controllerOfReplicaSet = loop.ControllerOf(decide.Kind.GroupKind())
	replicaSetOfPod        = loop.ControllerOf(appsv1.SchemeGroupVersion.WithKind("ReplicaSet").GroupKind())
)

// OnDeployment enqueues the Deployment itself.
func (r *Reconciler) OnDeployment(ev loop.Event) []types.NamespacedName {
	r.Expectations.ObserveOwner(ev)
	return loop.Self(ev)
}

// OnReplicaSet enqueues the Deployment that controls a ReplicaSet, or the Deployments that could
// adopt an orphan.
func (r *Reconciler) OnReplicaSet(ev loop.Event) []types.NamespacedName {
	r.Expectations.Observe(ev)
	keys := controllerOfReplicaSet(ev)
	if ev.Type == loop.Deleted || metav1.GetControllerOfNoCopy(ev.Object) != nil {
		return keys
	}
	return append(keys, r.matching(ev.Object)...)
}

// matching returns the Deployments whose selector matches an orphan.
func (r *Reconciler) matching(orphan metav1.Object) []types.NamespacedName {
	return dependents.Adopters(orphan, r.deployments.Deployments(orphan.GetNamespace()).List, func(owner *appsv1.Deployment) *metav1.LabelSelector { return owner.Spec.Selector })
}

// ObservePod applies an event of a pod to the counts of running pods. Every event has to be
// passed to it, in the order of delivery.
func (r *Reconciler) ObservePod(ev loop.Event) { r.running.Observe(ev) }

// OnPod enqueues a Deployment that waits for its old pods to end, when one of them has
// ended or is gone. For all other decisions, the counts of the ReplicaSets suffice.
func (r *Reconciler) OnPod(ev loop.Event) []types.NamespacedName {
	pod, ok := ev.Object.(*corev1.Pod)
	if !ok || ev.Type != loop.Deleted && !controllerref.Ended(pod) {
		return nil
	}
	var keys []types.NamespacedName
	for _, key := range replicaSetOfPod(ev) {
		rs, err := r.replicaSets.ReplicaSets(key.Namespace).Get(key.Name)
		if err != nil {
			continue
		}
		ref := metav1.GetControllerOfNoCopy(rs)
		if ref == nil || ref.Kind != decide.Kind.Kind {
			continue
		}
		d, err := r.deployments.Deployments(key.Namespace).Get(ref.Name)
		if err == nil && d.UID == ref.UID && d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
			keys = append(keys, loop.KeyOf(d))
		}
	}
	return keys
}
