package garbagecollector

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Verb is what is to be done about an object.
type Verb int

// What can be done about an object.
const (
	// Nothing has to be done.
	Nothing Verb = iota
	// LookUp the object: only references to it are known.
	LookUp
	// Release lets the object go: nothing holds back its foreground deletion.
	Release
	// OrphanDependents takes the object out of its dependents' references, and then
	// lets it go.
	OrphanDependents
	// DropOwners removes references to owners that are gone or on their way, as
	// another owner keeps the object.
	DropOwners
	// Unblock lets the object no longer hold back its owners: it waits for itself in a
	// circle of them.
	Unblock
	// Delete the object.
	Delete
)

func (v Verb) String() string {
	return [...]string{"nothing", "look up", "release", "orphan dependents", "drop owners", "unblock", "delete"}[v]
}

// Action is a decision about one object.
type Action struct {
	Verb Verb
	// Owners are those whose references DropOwners removes.
	Owners []types.UID
	// Policy is how Delete treats the object's own dependents.
	Policy metav1.DeletionPropagation
}

// NeedsOwners reports whether the decision depends on the object's owners, so that
// those whose state is unknown have to be looked up.
func NeedsOwners(v View) bool {
	return v.Seen && !v.Deleting && len(v.Owners) > 0
}

// Decide says what is to be done about an object. When NeedsOwners, every state in
// v.States is known.
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

// decideByOwners follows the rules of owners and dependents: one owner that exists
// keeps an object, whatever the others do.
func decideByOwners(v View) Action {
	var kept, waiting bool
	var drop []types.UID
	for i, state := range v.States {
		switch state {
		case OwnerInvalid, OwnerUnknown:
			return Action{} // never delete on a guess
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
		// The owners wait for this object and so for all that is beneath it.
		return Action{Verb: Delete, Policy: metav1.DeletePropagationForeground}
	case v.Orphan:
		return Action{Verb: Delete, Policy: metav1.DeletePropagationOrphan}
	case v.Foreground:
		return Action{Verb: Delete, Policy: metav1.DeletePropagationForeground}
	}
	return Action{Verb: Delete, Policy: metav1.DeletePropagationBackground}
}
