package history

import (
	"bytes"
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

// Sorted returns the revisions, oldest first.
func Sorted(revisions []*appsv1.ControllerRevision) []*appsv1.ControllerRevision {
	return slices.SortedFunc(slices.Values(revisions), func(a, b *appsv1.ControllerRevision) int {
		return cmp.Or(
			cmp.Compare(a.Revision, b.Revision),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name),
		)
	})
}

// Advance returns the revision that is to be the newest, with wanted's data, and the
// actions that make it so: none if it already is, an update of the number if an older
// revision has the same data (a rollback), or the creation of wanted.
func Advance(sorted []*appsv1.ControllerRevision, wanted *appsv1.ControllerRevision) (*appsv1.ControllerRevision, []plan.Action) {
	next := int64(1)
	if len(sorted) > 0 {
		next = sorted[len(sorted)-1].Revision + 1
	}
	for i, known := range slices.Backward(sorted) {
		switch {
		case !bytes.Equal(known.Data.Raw, wanted.Data.Raw):
		case i == len(sorted)-1:
			return known, nil
		default:
			again := known.DeepCopy()
			again.Revision = next
			return again, []plan.Action{plan.One(plan.Update, again)}
		}
	}
	born := wanted.DeepCopy()
	born.Revision = next
	return born, []plan.Action{plan.One(plan.Create, born)}
}

// Surplus returns deletions of the oldest of the sorted revisions, so that no more than
// limit remain. It keeps revisions in use, even beyond the limit.
func Surplus(sorted []*appsv1.ControllerRevision, limit *int32, inUse func(*appsv1.ControllerRevision) bool) []plan.Action {
	keep := 10 // the API's default
	if limit != nil {
		keep = int(*limit)
	}
	surplus := len(sorted) - keep
	var actions []plan.Action
	for _, revision := range sorted {
		if len(actions) >= surplus {
			break
		}
		if !inUse(revision) {
			actions = append(actions, plan.One(plan.Delete, revision))
		}
	}
	return actions
}

// More returns the collision count plus one.
func More(collisions *int32) *int32 {
	count := int32(1)
	if collisions != nil {
		count += *collisions
	}
	return &count
}
