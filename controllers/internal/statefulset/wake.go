package statefulset

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/dependents"
	"minikcm.dev/minikcm/controllers/internal/statefulset/decide"
	"minikcm.dev/minikcm/internal/loop"
)

var controllerOf = loop.ControllerOf(decide.Kind.GroupKind())

// OnStatefulSet enqueues the StatefulSet itself.
func (r *Reconciler) OnStatefulSet(ev loop.Event) []types.NamespacedName {
	r.Expectations.ObserveOwner(ev)
	return loop.Self(ev)
}

// ObservePod applies an event of a pod to the accounts of the sets. Every event has to be
// passed to it, in the order of delivery.
func (r *Reconciler) ObservePod(ev loop.Event) { r.pods.Observe(ev) }

// OnPod enqueues the StatefulSet that controls a pod, or the one that could adopt an
// orphan.
func (r *Reconciler) OnPod(ev loop.Event) []types.NamespacedName {
	r.Expectations.Observe(ev)
	pod, ok := dependents.Changed(ev, controllerref.Differs)
	if !ok {
		return nil
	}
	keys := controllerOf(ev)
	if metav1.GetControllerOfNoCopy(pod) == nil {
		// Also when an orphan is deleted: the set whose pod name it had may wait for that.
		keys = append(keys, r.adopters(pod)...)
	}
	return keys
}

// adopters returns the StatefulSet whose pod name an orphan has.
func (r *Reconciler) adopters(orphan *corev1.Pod) []types.NamespacedName {
	parent, _, ok := decide.SplitOrdinal(orphan.Name)
	if !ok {
		return nil
	}
	set, err := r.sets.StatefulSets(orphan.Namespace).Get(parent)
	if err != nil {
		return nil
	}
	return []types.NamespacedName{loop.KeyOf(set)}
}

// OnRevision enqueues the StatefulSet that controls a ControllerRevision, or the StatefulSets that
// could adopt an orphan.
func (r *Reconciler) OnRevision(ev loop.Event) []types.NamespacedName {
	r.Expectations.Observe(ev)
	keys := controllerOf(ev)
	if ev.Type == loop.Deleted || metav1.GetControllerOfNoCopy(ev.Object) != nil {
		return keys
	}
	return append(keys, loop.KeysOf(r.sets.StatefulSets(ev.Object.GetNamespace()).List, func(set *appsv1.StatefulSet) bool { return selects(set, ev.Object) })...)
}

func selects(set *appsv1.StatefulSet, o metav1.Object) bool {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	return err == nil && !selector.Empty() && selector.Matches(labels.Set(o.GetLabels()))
}

// OnClaim enqueues the StatefulSet that a claim belongs to by its name. The set is not the
// claim's controller, unless the retention policy makes it so.
func (r *Reconciler) OnClaim(ev loop.Event) []types.NamespacedName {
	stem, _, ok := decide.SplitOrdinal(ev.Object.GetName())
	if !ok {
		return nil
	}
	all, err := r.sets.StatefulSets(ev.Object.GetNamespace()).List(labels.Everything())
	if err != nil {
		return nil
	}
	var keys []types.NamespacedName
	for _, set := range all {
		if claims(set, stem) {
			r.Expectations.ObserveFor(set.UID, ev)
			keys = append(keys, loop.KeyOf(set))
		}
	}
	return keys
}

// claims reports whether a claim with the name stem-ORDINAL belongs to the set.
func claims(set *appsv1.StatefulSet, stem string) bool {
	prefix, ok := strings.CutSuffix(stem, "-"+set.Name)
	if !ok {
		return false
	}
	for i := range set.Spec.VolumeClaimTemplates {
		if set.Spec.VolumeClaimTemplates[i].Name == prefix {
			return true
		}
	}
	return false
}
