package plan

import "k8s.io/apimachinery/pkg/types"

// Tracker receives an owner's writes while they are made. controllerref.Expectations implements it
// and makes a reconcile wait until the caches show the writes.
type Tracker interface {
	// Begin and End enclose the writes of one plan.
	Begin(owner types.UID)
	End(owner types.UID)
	// Written reports that the API has stored o in this state.
	Written(owner types.UID, o Object)
	// Deleting reports that o is about to be deleted.
	Deleting(owner types.UID, o Object)
	// Kept reports that o has not been deleted after all, or was already gone.
	Kept(owner types.UID, o Object)
}

type noTracker struct{}

func (noTracker) Begin(types.UID)            {}
func (noTracker) End(types.UID)              {}
func (noTracker) Written(types.UID, Object)  {}
func (noTracker) Deleting(types.UID, Object) {}
func (noTracker) Kept(types.UID, Object)     {}
