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

// Plan is what is to be done about one object, the owner. S is the type of the
// owner's status. The zero value: nothing is to be done.
type Plan[S any] struct {
	// Actions are taken in this order; a failed one ends the plan.
	Actions []Action
	// Status is what the owner's status ought to be; nil: as it is.
	Status *S
	// Events are reported about the owner whatever becomes of the actions.
	Events []Event
	// RequeueAfter is when the owner is to be looked at again even if nothing
	// happens; 0: there is nothing to wait for.
	RequeueAfter time.Duration
}

// Verb says what an action does.
type Verb string

// What an action can do with its objects.
const (
	// Create makes the objects. The name may be a generateName.
	Create Verb = "create"
	// Update replaces an object, if it still has the resourceVersion in it.
	Update Verb = "update"
	// UpdateStatus replaces an object's status under the same condition.
	UpdateStatus Verb = "updateStatus"
	// Delete deletes the objects, if they still have the UID in them.
	Delete Verb = "delete"
	// Adopt makes the owner the objects' controller, if a live read says that the
	// owner is still the same and not being deleted.
	Adopt Verb = "adopt"
	// Release takes the owner's reference out of the objects.
	Release Verb = "release"
	// Unpin takes Finalizers out of the objects; one that has gone is fine.
	Unpin Verb = "unpin"
)

// Action does one thing with one or more objects. With several, the order among
// them is open and they are taken concurrently.
type Action struct {
	Verb    Verb
	Objects []Object
	// SlowStart takes first one object, then twice as many as the last time, and
	// gives the rest up when one fails: a thousand creations that a quota refuses
	// cost one request, not a thousand.
	SlowStart bool
	// Finalizers are put into what is adopted, and taken out of what is released
	// or unpinned.
	Finalizers []string
	// Unchanged unpins only what is still the version that the plan was made of;
	// else it fails as stale.
	Unchanged bool
	// Succeeded and Failed are reported of each object; nil: nothing is.
	Succeeded, Failed *Event
}

// One is an action with a single object.
func One(verb Verb, o Object) Action { return Action{Verb: verb, Objects: []Object{o}} }

// Each is an action with all these objects, or none if there are none.
func Each[T Object](verb Verb, objects []T) []Action {
	if len(objects) == 0 {
		return nil
	}
	return []Action{{Verb: verb, Objects: Objects(objects)}}
}

// Objects are objects of one type as an action has them.
func Objects[T Object](list []T) []Object {
	objects := make([]Object, len(list))
	for i, o := range list {
		objects[i] = o
	}
	return objects
}

// Event is something to tell about the owner. Type is "Normal" or "Warning".
type Event struct {
	Type, Reason, Message string
	// Detail puts the object's name, or the error that it met, after the message.
	Detail bool
	// Named puts the object's name in place of the message's %s.
	Named bool
}
