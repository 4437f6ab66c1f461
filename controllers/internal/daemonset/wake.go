package daemonset

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/daemonset/decide"
	"minikcm.dev/minikcm/controllers/internal/dependents"
	"minikcm.dev/minikcm/internal/loop"
)

var controllerOf = loop.ControllerOf(decide.Kind.GroupKind())

// OnDaemonSet enqueues the DaemonSet itself.
func (r *Reconciler) OnDaemonSet(ev loop.Event) []types.NamespacedName {
	r.Expectations.ObserveOwner(ev)
	if ev.Type == loop.Deleted {
		r.remember(ev.Object.GetUID(), decide.Failures{})
	}
	return loop.Self(ev)
}

// OnPod enqueues the DaemonSet that controls a pod, or the DaemonSets that could adopt an orphan.
func (r *Reconciler) OnPod(ev loop.Event) []types.NamespacedName {
	r.Expectations.Observe(ev)
	if _, ok := dependents.Changed(ev, differs); !ok {
		return nil
	}
	return append(controllerOf(ev), r.adopters(ev)...)
}

// differs reports whether two versions of a pod differ in a field that a DaemonSet reads.
func differs(old, pod *corev1.Pod) bool {
	return controllerref.Differs(old, pod) || old.Spec.NodeName != pod.Spec.NodeName
}

// OnRevision enqueues the DaemonSet that controls a ControllerRevision, or the DaemonSets that
// could adopt an orphan. A revision that another client creates for a DaemonSet does not enqueue
// it, as upstream.
func (r *Reconciler) OnRevision(ev loop.Event) []types.NamespacedName {
	controller := controllerref.ControllerUID(ev.Object)
	given := ev.Type == loop.Added && controller != "" && !r.Expectations.Pending(controller)
	r.Expectations.Observe(ev)
	if given {
		return nil
	}
	return append(controllerOf(ev), r.adopters(ev)...)
}

// adopters returns the DaemonSets whose selector matches an orphan.
func (r *Reconciler) adopters(ev loop.Event) []types.NamespacedName {
	o := ev.Object
	if ev.Type == loop.Deleted || metav1.GetControllerOfNoCopy(o) != nil {
		return nil
	}
	return dependents.Adopters(o, r.daemonSets.DaemonSets(o.GetNamespace()).List, func(owner *appsv1.DaemonSet) *metav1.LabelSelector { return owner.Spec.Selector })
}

// OnNode enqueues the DaemonSets for which a node has been added or removed, or has changed
// in whether it should have a pod.
func (r *Reconciler) OnNode(ev loop.Event) []types.NamespacedName {
	node, ok := ev.Object.(*corev1.Node)
	if !ok {
		return nil
	}
	old, _ := ev.Old.(*corev1.Node)
	if old != nil && maps.Equal(old.Labels, node.Labels) && equality.Semantic.DeepEqual(old.Spec.Taints, node.Spec.Taints) {
		return nil
	}
	all, err := r.daemonSets.List(labels.Everything())
	if err != nil {
		return nil
	}
	var keys []types.NamespacedName
	for _, d := range all {
		if decide.Concerns(d, old, node) {
			keys = append(keys, loop.KeyOf(d))
		}
	}
	return keys
}
