package plan

import "k8s.io/apimachinery/pkg/types"

// Tracker is told of an owner's writes while they are made. Package owned has
// the one that makes a reconcile wait until the caches have seen them.
type Tracker interface {
	// Begin and End enclose the writes of one plan.
	Begin(owner types.UID)
	End(owner types.UID)
	// Written: the API has stored o like this.
	Written(owner types.UID, o Object)
	// Deleting: o is about to be deleted.
	Deleting(owner types.UID, o Object)
	// Kept: o has not been deleted after all, or was already gone.
	Kept(owner types.UID, o Object)
}

type noTracker struct{}

func (noTracker) Begin(types.UID)            {}
func (noTracker) End(types.UID)              {}
func (noTracker) Written(types.UID, Object)  {}
func (noTracker) Deleting(types.UID, Object) {}
func (noTracker) Kept(types.UID, Object)     {}
