package decide

import (
	"math"
	"slices"
	"strconv"
)

// scalingEvent reports whether the Deployment's replicas have changed since its ReplicaSets
// were last sized. Scaling precedes the rollout.
func (r *rollout) scalingEvent() bool {
	return slices.ContainsFunc(activeOf(r.all()), func(s *set) bool {
		desired, ok := s.number(desiredReplicasAnnotation)
		return ok && desired != r.wanted
	})
}

func (s *set) number(annotation string) (int32, bool) {
	n, err := strconv.ParseInt(s.annotations[annotation], 10, 32)
	return int32(n), err == nil
}

// scale distributes a changed number of replicas without advancing the rollout.
func (r *rollout) scale() {
	if only := r.onlyOne(); only != nil {
		if only.size >= r.wanted || r.settledBut(only) {
			r.resizeFor(only, r.wanted)
		}
		return
	}
	if r.saturated() {
		for _, s := range activeOf(r.old) {
			r.resize(s, 0)
		}
		return
	}
	if !r.recreates() {
		r.scaleInProportion()
	}
}

// onlyOne returns the only ReplicaSet with a size above zero or, if there is none, the one
// to scale; nil in the middle of a rollout.
func (r *rollout) onlyOne() *set {
	active := activeOf(r.all())
	switch {
	case len(active) == 1:
		return active[0]
	case len(active) > 1:
		return nil
	case r.new != nil:
		return r.new
	case len(r.old) > 0:
		return slices.MaxFunc(r.old, byAge)
	default:
		return nil
	}
}

// settledBut reports whether no ReplicaSet except one has more pods than its size. Until
// then others must not grow in their place.
func (r *rollout) settledBut(one *set) bool {
	return !slices.ContainsFunc(r.all(), func(s *set) bool {
		return s != one && (!s.observed() || s.Status.Replicas > s.size || r.recreates() && s.size == 0 && r.in.Running[s.UID] > 0)
	})
}

// saturated reports whether the new ReplicaSet has all wanted pods and they are available.
func (r *rollout) saturated() bool {
	if r.new == nil {
		return false
	}
	desired, ok := r.new.number(desiredReplicasAnnotation)
	return ok && desired == r.wanted && r.new.size == r.wanted && r.new.available() == r.wanted
}

// scaleInProportion distributes the added or removed pods over the active ReplicaSets in
// proportion to their sizes. The largest one takes the remainder of the rounding.
func (r *rollout) scaleInProportion() {
	active := activeOf(r.all())
	if len(active) == 0 {
		return
	}
	allowed := int32(0)
	if r.wanted > 0 {
		allowed = r.wanted + r.limits.surge
	}
	change := allowed - sum(active, sizeOf)
	if change > 0 && !r.settledBut(nil) {
		return
	}
	if change < 0 {
		slices.SortFunc(active, largestFirst(byAge))
	} else {
		slices.SortFunc(active, largestFirst(newestFirst))
	}
	sizes := make([]int32, len(active))
	given := int32(0)
	for i, s := range active {
		share := r.share(s, change, given)
		sizes[i] = s.size + share
		given += share
	}
	sizes[0] = max(sizes[0]+change-given, 0)
	for i, s := range active {
		r.resizeFor(s, sizes[i])
	}
}

// share returns how many of the change pods the ReplicaSet gets, after given of them were
// assigned to others.
func (r *rollout) share(s *set, change, given int32) int32 {
	if s.size == 0 || change == 0 || change == given {
		return 0
	}
	share := r.fraction(s)
	if change > 0 {
		return min(share, change-given)
	}
	return max(share, change-given)
}

// fraction returns the change that keeps the ReplicaSet's share of the total as it was when
// its size was last set.
func (r *rollout) fraction(s *set) int32 {
	if r.wanted == 0 {
		return -s.size
	}
	whole, ok := s.number(maxReplicasAnnotation)
	if !ok || whole == 0 {
		whole = r.d.Status.Replicas
	}
	if whole == 0 {
		return 0
	}
	size := float64(s.size) * float64(r.wanted+r.limits.surge) / float64(whole)
	return int32(math.Round(size)) - s.size
}
