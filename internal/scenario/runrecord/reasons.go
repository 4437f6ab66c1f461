package runrecord

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/reasons"
)

// maxNotAsExpected bounds a run's NotAsExpected.
const maxNotAsExpected = 100

// Events returns the events that are kept for the reasons of a failed check. It may be called at
// any time, and on nil.
func (r *Recorder) Events() []reasons.Event {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.seen.events.all()
	all := make([]reasons.Event, len(kept))
	for i := range kept {
		all[i] = kept[i].reason()
	}
	return all
}

func (e *Event) reason() reasons.Event {
	return reasons.Event{
		Type: e.Type, Reason: e.Reason, Message: e.Message, Count: e.Count, Revision: e.Revision,
		About: reasons.About{Kind: e.Object.Kind, Namespace: e.Object.Namespace, Name: e.Object.Name, UID: e.UID},
	}
}

// notAsExpected finds the objects of a cluster that are not as expected. Budgets that
// guard pods do what they are for.
func (r *Recorder) notAsExpected(cluster *minikcm.Cluster) (found []Reasons) {
	index := cluster.Known("")
	for _, e := range r.Events() {
		index.AddEvent(e)
	}
	index.Unexpected(func(o *unstructured.Unstructured, report reasons.Report) bool {
		if report.State != reasons.Guarding && len(report.Reasons) > 0 {
			found = append(found, Reasons{Object: ObjectOf(o), Part: metav1.GetControllerOfNoCopy(o) != nil, Report: report})
		}
		return len(found) < maxNotAsExpected
	})
	return found
}

// ObjectOf names an object.
func ObjectOf(o *unstructured.Unstructured) Object {
	gvk := o.GroupVersionKind()
	return Object{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}

// reasonsOf returns the list's report on the object of a write; nil if there is none.
func reasonsOf(list []Reasons, w *minikcm.Write) *reasons.Report {
	for i := range list {
		if o := &list[i].Object; o.Name == w.Name && o.Namespace == w.Namespace && o.Kind == w.Kind && o.Group == w.Resource.Group {
			return &list[i].Report
		}
	}
	return nil
}
