package reasons

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Subject is an object with everything that belongs to it. Of does not change it.
type Subject struct {
	Object *unstructured.Unstructured
	// Events regard the object, in any order.
	Events []Event
	// Parts are the objects that the object controls and that may be reasons. MoreParts
	// counts the omitted ones.
	Parts     []Subject
	MoreParts int
	// Refusals are the requests that the object depends on and that were refused.
	Refusals []Refusal
	// Node is the node of a pod that is bound, and NodeRefusals are the node's Refusals.
	Node         *unstructured.Unstructured
	NodeRefusals []Refusal
	// Consumers are the holders of the resources of which a pod found too little.
	Consumers []Consumer
	// Budgets are the PodDisruptionBudgets that select a pod.
	Budgets []*unstructured.Unstructured
}

// Event is the relevant part of a core or events.k8s.io Event.
type Event struct {
	// Type is Normal or Warning.
	Type, Reason, Message string
	// Count is the number of occurrences; 0 means 1.
	Count int32
	// Revision orders events: it is the revision of the Event's last write.
	Revision int64
	// About is the object of the event.
	About About
}

// About identifies the object of an event. UID may be empty.
type About struct {
	Kind, Namespace, Name string
	UID                   types.UID
}

// newestFirst returns the newest event of each type and reason, the newest first.
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

// EventOf converts an Event. revision is the revision of its last write.
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
