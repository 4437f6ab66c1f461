package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is any API object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Plan is a decision about one object, the owner. S is the type of the owner's status. The
// zero value changes nothing.
type Plan[S any] struct {
	// Actions are executed in order; the plan ends at the first one that fails.
	Actions []Action
	// Status is the status that the owner should have; nil: its status is not written.
	Status *S
	// Events are recorded about the owner, whether the actions succeed or not.
	Events []Event
	// RequeueAfter is the time after which the owner is reconciled again even without an
	// event; 0: it is not.
	RequeueAfter time.Duration
}

// Verb is the kind of an action.
type Verb string

// The verbs of actions.
const (
	// Create creates the objects. The name may be a generateName.
	Create Verb = "create"
	// Update replaces an object if its resourceVersion has not changed.
	Update Verb = "update"
	// UpdateStatus replaces an object's status under the same condition.
	UpdateStatus Verb = "updateStatus"
	// Delete deletes the objects if their UIDs have not changed.
	Delete Verb = "delete"
	// Relabel sets the labels that the objects have, and keeps others that they have by now.
	Relabel Verb = "relabel"
	// Adopt makes the owner the controller of the objects, if a live read shows that the
	// owner is still the same object and not being deleted.
	Adopt Verb = "adopt"
	// Release removes the owner's reference from the objects.
	Release Verb = "release"
	// Unpin removes Finalizers from the objects. An object that is gone is not an error.
	Unpin Verb = "unpin"
)

// Action applies one verb to one or more objects. Several objects are processed
// concurrently, in no particular order.
type Action struct {
	Verb    Verb
	Objects []Object
	// SlowStart starts with one object, doubles the number with each batch, and stops when
	// one fails: if a quota refuses a thousand creations, they cost one request, not a
	// thousand.
	SlowStart bool
	// Finalizers are added to adopted objects, and removed from released and unpinned ones.
	Finalizers []string
	// Unchanged restricts Unpin to objects that still have the resourceVersion that the
	// plan was made with; it fails as stale for the others.
	Unchanged bool
	// Succeeded and Failed are recorded for each object; nil: nothing is.
	Succeeded, Failed *Event
}

// One returns an action with a single object.
func One(verb Verb, o Object) Action { return Action{Verb: verb, Objects: []Object{o}} }

// Each returns one action with all the objects, or no action if there are none.
func Each[T Object](verb Verb, objects []T) []Action {
	if len(objects) == 0 {
		return nil
	}
	return []Action{{Verb: verb, Objects: Objects(objects)}}
}

// Objects converts a list of objects of one type for an action.
func Objects[T Object](list []T) []Object {
	objects := make([]Object, len(list))
	for i, o := range list {
		objects[i] = o
	}
	return objects
}

// Event is an event about the owner. Type is "Normal" or "Warning".
type Event struct {
	Type, Reason, Message string
	// Detail appends the object's name, or the error that it met, to the message.
	Detail bool
	// Named replaces the %s in the message with the object's name.
	Named bool
}
