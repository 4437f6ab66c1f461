package graph

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Verb is the kind of an action.
type Verb int

// The verbs of actions.
const (
	// Nothing: no action is needed.
	Nothing Verb = iota
	// LookUp looks up the object, which is known only from references.
	LookUp
	// Release removes the foreground finalizer: no dependent blocks the deletion.
	Release
	// OrphanDependents removes the references to the object from its dependents, and then
	// its orphan finalizer.
	OrphanDependents
	// DropOwners removes references to owners that are gone or being deleted; another owner
	// keeps the object.
	DropOwners
	// Unblock clears blockOwnerDeletion in the object's references, because a circle of
	// them would block for ever.
	Unblock
	// Delete deletes the object.
	Delete
)

// String returns the verb in the words of logs.
func (v Verb) String() string {
	return [...]string{"nothing", "look up", "release", "orphan dependents", "drop owners", "unblock", "delete"}[v]
}

// Action is a decision about one object.
type Action struct {
	Verb Verb
	// Owners are the owners to which DropOwners removes the references.
	Owners []types.UID
	// Policy is the propagation policy of Delete.
	Policy metav1.DeletionPropagation
}

// NeedsOwners reports whether the decision depends on the object's owners, so that those
// whose state is unknown have to be looked up.
func NeedsOwners(v View) bool {
	return v.Seen && !v.Deleting && len(v.Owners) > 0
}

// Decide returns the action for an object. If NeedsOwners, the caller ensures that every
// state in v.States is known.
func Decide(v View) Action {
	switch {
	case !v.Seen:
		return Action{Verb: LookUp}
	case v.orphansDependents():
		return Action{Verb: OrphanDependents}
	case v.deletesDependents() && !v.Blocked:
		return Action{Verb: Release}
	case v.InCircle:
		return Action{Verb: Unblock}
	case v.Deleting || len(v.Owners) == 0:
		return Action{}
	}
	return decideByOwners(v)
}

// decideByOwners applies the rules of owners and dependents: one existing owner keeps the
// object, whatever the state of the others.
func decideByOwners(v View) Action {
	var kept, waiting bool
	var drop []types.UID
	for i, state := range v.States {
		switch state {
		case OwnerInvalid, OwnerUnknown:
			return Action{} // do not delete on incomplete knowledge
		case OwnerExists:
			kept = true
		case OwnerWaits:
			waiting = true
			drop = append(drop, v.Owners[i].UID)
		case OwnerAbsent:
			drop = append(drop, v.Owners[i].UID)
		}
	}
	switch {
	case kept && len(drop) == 0:
		return Action{}
	case kept:
		return Action{Verb: DropOwners, Owners: drop}
	case waiting && v.HasDependents:
		// The owners wait for this object, and therefore for its dependents.
		return Action{Verb: Delete, Policy: metav1.DeletePropagationForeground}
	case v.Orphan:
		return Action{Verb: Delete, Policy: metav1.DeletePropagationOrphan}
	case v.Foreground:
		return Action{Verb: Delete, Policy: metav1.DeletePropagationForeground}
	}
	return Action{Verb: Delete, Policy: metav1.DeletePropagationBackground}
}
