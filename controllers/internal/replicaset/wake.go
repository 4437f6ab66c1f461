package replicaset

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/dependents"
	"minikcm.dev/minikcm/internal/loop"
)

// OnReplicaSet enqueues the ReplicaSet, or the owner of another kind.
func (r *Reconciler[T]) OnReplicaSet(ev loop.Event) []types.NamespacedName {
	r.Expectations.ObserveOwner(ev)
	return loop.Self(ev)
}

// ObservePod applies an event of a pod to the accounts of the owners. Every event has to be
// passed to it, in the order of delivery.
func (r *Reconciler[T]) ObservePod(ev loop.Event) { r.pods.Observe(ev) }

// OnPod enqueues the owner that controls a pod, or the owners that could adopt an orphan.
func (r *Reconciler[T]) OnPod(ev loop.Event) []types.NamespacedName {
	r.Expectations.Observe(ev)
	pod, ok := dependents.Changed(ev, controllerref.Differs)
	if !ok {
		return nil
	}
	keys := r.wakesOwner(ev)
	if ev.Type != loop.Deleted && metav1.GetControllerOfNoCopy(pod) == nil {
		keys = append(keys, r.matching(pod)...)
	}
	return keys
}

// matching returns the owners whose selector matches an orphan.
func (r *Reconciler[T]) matching(pod *corev1.Pod) []types.NamespacedName {
	list := func(selector labels.Selector) (all []T, err error) {
		err = cache.ListAllByNamespace(r.cache, pod.Namespace, selector, func(obj any) {
			if owner, ok := obj.(T); ok {
				all = append(all, owner)
			}
		})
		return all, err
	}
	return dependents.Adopters(pod, list, r.owners.Selector)
}
