package reasons

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Subject is an object with what belongs to it. Of reads it and changes nothing.
type Subject struct {
	Object *unstructured.Unstructured
	// Events regard the object, in any order.
	Events []Event
	// Parts are what the object controls, as far as it may be a reason. MoreParts counts
	// those that were left out.
	Parts     []Subject
	MoreParts int
	// Node is the one that the object is on, if it is a pod that is on one.
	Node *unstructured.Unstructured
	// Budgets are the PodDisruptionBudgets that select the object, if it is a pod.
	Budgets []*unstructured.Unstructured
}

// Event is what is of use here of a core or events.k8s.io Event.
type Event struct {
	// Type is Normal or Warning.
	Type, Reason, Message string
	// Count is how often it happened; 0 is once.
	Count int32
	// Revision orders events: it is the one at which the Event was written last.
	Revision int64
	// About is the object.
	About About
}

// About names the object of an event. UID may be empty.
type About struct {
	Kind, Namespace, Name string
	UID                   types.UID
}

// newestFirst are events with the newest first, one for each type and reason.
func newestFirst(events []Event) []Event {
	sorted := slices.Clone(events)
	slices.SortStableFunc(sorted, func(a, b Event) int { return cmp.Compare(b.Revision, a.Revision) })
	type kind struct{ what, reason string }
	seen := map[kind]bool{}
	return slices.DeleteFunc(sorted, func(e Event) bool {
		k := kind{e.Type, e.Reason}
		if seen[k] {
			return true
		}
		seen[k] = true
		return false
	})
}

// EventOf is what is of use of an Event. revision is the one at which it was written.
func EventOf(e *corev1.Event, revision int64) Event {
	count := max(e.Count, 1)
	if e.Series != nil {
		count = max(count, e.Series.Count)
	}
	about := &e.InvolvedObject
	return Event{
		Type: e.Type, Reason: e.Reason, Message: e.Message, Count: count, Revision: revision,
		About: About{Kind: about.Kind, Namespace: about.Namespace, Name: about.Name, UID: about.UID},
	}
}
