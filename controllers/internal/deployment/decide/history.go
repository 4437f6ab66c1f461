package decide

import (
	"cmp"
	"math"
	"slices"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

// cleanUpIfComplete deletes old ReplicaSets when the rollout is over.
func (r *rollout) cleanUpIfComplete() {
	if complete(r.d, &r.d.Status) {
		r.cleanUp()
	}
}

// cleanUp deletes the ReplicaSets of the oldest revisions beyond the history limit, if they
// have no pods and are not being deleted.
func (r *rollout) cleanUp() {
	limit := r.d.Spec.RevisionHistoryLimit
	if limit == nil || *limit == math.MaxInt32 {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(r.old), func(s *set) bool { return s.DeletionTimestamp != nil })
	surplus := len(kept) - int(*limit)
	if surplus <= 0 {
		return
	}
	slices.SortStableFunc(kept, func(a, b *set) int { return cmp.Compare(revisionOf(a), revisionOf(b)) })
	for _, s := range kept[:surplus] {
		if s.Status.Replicas == 0 && s.size == 0 && specReplicas(s.ReplicaSet) == 0 && s.observed() {
			r.cleanUps = append(r.cleanUps, plan.One(plan.Delete, s.ReplicaSet))
		}
	}
}
