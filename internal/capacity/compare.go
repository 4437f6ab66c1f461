package capacity

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/reasons"
)

// compare fills in the differences between two states. It does not change them.
// warning returns the event that explains why a pod does not start.
func (r *Report) compare(before, after *state, warning func(types.UID) *reasons.Event) {
	gone, came := differences(before.pods, after.pods)
	heirs := r.pair(gone, came, after.preempted)
	r.wait(before, after, heirs, warning)
	r.Short = shortfalls(before, after)
	r.compareNodes(before.use(), after.use())
}

// differences returns the pods that are in only one of the lists. A pod that had ended before
// does not count as gone, and one that is being deleted does.
func differences(before, after []corev1.Pod) (gone, came []*corev1.Pod) {
	known := map[types.UID]bool{}
	for i := range before {
		known[before[i].UID] = true
	}
	there := map[types.UID]bool{}
	for i := range after {
		there[after[i].UID] = after[i].DeletionTimestamp == nil
		if !known[after[i].UID] {
			came = append(came, &after[i])
		}
	}
	for i := range before {
		if !there[before[i].UID] && !ended(&before[i]) && before[i].DeletionTimestamp == nil {
			gone = append(gone, &before[i])
		}
	}
	return gone, came
}

// ownerOf returns the UID of a pod's controller, which replaces the pod, or the pod's own UID
// if it has none.
func ownerOf(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOf(pod); owner != nil {
		return owner.UID
	}
	return pod.UID
}

func byName(a, b *corev1.Pod) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// pair finds the replacement of each pod that is gone: a new pod of the same owner, with the
// same name if possible. It returns the replaced pods by the UIDs of the replacements.
func (r *Report) pair(gone, came []*corev1.Pod, preempted map[types.UID]bool) (replaced map[types.UID]*corev1.Pod) {
	replaced = map[types.UID]*corev1.Pod{}
	slices.SortFunc(gone, byName)
	slices.SortFunc(came, byName)
	take := func(match func(*corev1.Pod) bool) *corev1.Pod {
		at := slices.IndexFunc(came, match)
		if at < 0 {
			return nil
		}
		pod := came[at]
		came = slices.Delete(came, at, at+1)
		return pod
	}
	successors := make([]*corev1.Pod, len(gone))
	for i, old := range gone {
		successors[i] = take(func(p *corev1.Pod) bool { return ownerOf(p) == ownerOf(old) && p.Name == old.Name })
	}
	for i, old := range gone {
		if successors[i] == nil {
			successors[i] = take(func(p *corev1.Pod) bool { return ownerOf(p) == ownerOf(old) && r.succeeds(p, old) })
		}
		if next := successors[i]; next != nil {
			replaced[next.UID] = old
			r.Moved = append(r.Moved, Move{nameOf(old), old.Spec.NodeName, nameOf(next), next.Spec.NodeName, preempted[old.UID]})
			continue
		}
		r.Gone = append(r.Gone, placedOf(old, preempted[old.UID]))
	}
	for _, pod := range came {
		r.Started = append(r.Started, placedOf(pod, false))
	}
	return replaced
}

// succeeds reports whether a pod may be the replacement of another one of its controller. A pod of a DaemonSet
// is one only on the same node, or on the node that replaces it.
func (r *Report) succeeds(pod, old *corev1.Pod) bool {
	if owner := metav1.GetControllerOf(pod); owner == nil || owner.Kind != "DaemonSet" || pod.Spec.NodeName == old.Spec.NodeName {
		return true
	}
	return slices.ContainsFunc(r.Drains, func(d DrainResult) bool {
		return d.Node == old.Spec.NodeName && d.ReplacedBy == pod.Spec.NodeName
	})
}

func placedOf(pod *corev1.Pod, preempted bool) Placed {
	return Placed{nameOf(pod), pod.Spec.NodeName, preempted, ownerOf(pod)}
}

// wait collects the pods that are pending after the changes, with the reasons. A pod was pending before if
// the pod that it replaces was.
func (r *Report) wait(before, after *state, replaced map[types.UID]*corev1.Pod, warning func(types.UID) *reasons.Event) {
	was := map[types.UID]bool{}
	for i := range before.pods {
		was[before.pods[i].UID] = pending(&before.pods[i])
	}
	for i := range after.pods {
		pod := &after.pods[i]
		if !pending(pod) {
			continue
		}
		old := replaced[pod.UID]
		r.Pending = append(r.Pending, Waiting{nameOf(pod), pod.Spec.NodeName, whyPending(pod, warning(pod.UID)), was[pod.UID] || old != nil && was[old.UID]})
	}
}

func pending(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && (pod.Status.Phase == corev1.PodPending || pod.Status.Phase == "")
}

// whyPending returns the scheduler's message, or else the first reason in the pod's status, or the message
// of a warning about it.
func whyPending(pod *corev1.Pod, warning *reasons.Event) string {
	if message := unscheduled(pod); message != "" {
		return message
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	if err != nil {
		return err.Error()
	}
	fields["kind"], fields["apiVersion"] = "Pod", "v1"
	if warning != nil && warning.Message != "" {
		return warning.Message
	}
	report := reasons.Of(&reasons.Subject{Object: &unstructured.Unstructured{Object: fields}})
	if len(report.Reasons) == 0 {
		return "it has not started yet"
	}
	return report.Reasons[0].String()
}

func (r *Report) compareNodes(before, after map[string]*Use) {
	names := map[string]bool{}
	for name := range before {
		names[name] = true
	}
	for name := range after {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		r.Nodes = append(r.Nodes, NodeUse{Name: name, Before: before[name], After: after[name]})
	}
}
