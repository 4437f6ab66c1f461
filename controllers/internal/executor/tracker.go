package executor

import (
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

// Tracker receives an owner's writes while they are made. dependents.Expectations implements it
// and makes a reconcile wait until the caches show the writes.
type Tracker interface {
	// Begin and End enclose the writes of one plan.
	Begin(owner types.UID)
	End(owner types.UID)
	// Written reports that the API has stored o in this state.
	Written(owner types.UID, o plan.Object)
	// Deleting reports that o is about to be deleted.
	Deleting(owner types.UID, o plan.Object)
	// Kept reports that o has not been deleted after all, or was already gone.
	Kept(owner types.UID, o plan.Object)
}

type noTracker struct{}

func (noTracker) Begin(types.UID) {}

func (noTracker) End(types.UID) {}

func (noTracker) Written(types.UID, plan.Object) {}

func (noTracker) Deleting(types.UID, plan.Object) {}

func (noTracker) Kept(types.UID, plan.Object) {}
