package decide

import "slices"

// roll takes the next step of a rolling update: it grows the new ReplicaSet, else shrinks
// old ones, else cleans up.
func (r *rollout) roll() {
	r.ensureNew()
	if r.sizeNew() || r.shrinkOld() {
		return
	}
	r.cleanUpIfComplete()
}

// sizeNew grows the new ReplicaSet as far as maxSurge allows, or shrinks it to the wanted
// number. It reports whether the size changes.
func (r *rollout) sizeNew() bool {
	if r.new.unborn {
		return false // ensureNew has set its size
	}
	size := r.wanted
	if r.new.size < r.wanted {
		size = r.newSize()
	}
	return r.resize(r.new, size)
}

// newSize returns the size that the new ReplicaSet may have now.
func (r *rollout) newSize() int32 {
	if r.recreates() {
		return r.wanted
	}
	// The status of a ReplicaSet that has not observed its latest spec does not say how
	// many pods it has. Wait for the status.
	if slices.ContainsFunc(r.all(), func(s *set) bool { return !s.observed() }) {
		return r.new.size
	}
	room := r.wanted + r.limits.surge - sum(r.all(), (*set).pods)
	if room <= 0 {
		return r.new.size
	}
	return r.new.size + min(room, r.wanted-r.new.size)
}

// shrinkOld shrinks the old ReplicaSets as far as maxUnavailable allows. It reports whether
// a size changes.
func (r *rollout) shrinkOld() bool {
	old := activeOf(r.old)
	if len(old) == 0 {
		return false
	}
	slices.SortFunc(old, byAge)
	least := r.wanted - r.limits.unavailable
	// spare is the number of pods that could be removed if all old pods were available.
	spare := sum(r.all(), sizeOf) - least - (r.new.size - r.new.available())
	if spare <= 0 {
		return false
	}
	unhealthy := r.dropUnhealthy(old, spare)
	surplus := sum(r.all(), (*set).available) - least
	healthy := r.drop(old, surplus, func(s *set) int32 { return s.size })
	return unhealthy || healthy
}

// dropUnhealthy removes up to n unavailable pods from the old ReplicaSets. Their removal
// does not reduce availability, and they could block the rollout for ever.
func (r *rollout) dropUnhealthy(old []*set, n int32) bool {
	return r.drop(old, n, func(s *set) int32 {
		if !s.observed() {
			return 0
		}
		return s.size - s.available()
	})
}

// drop removes up to n pods from the sets, oldest first, and from each no more than most
// returns. It reports whether it removed any.
func (r *rollout) drop(sets []*set, n int32, most func(*set) int32) bool {
	dropped := false
	for _, s := range sets {
		take := min(n, most(s))
		if take <= 0 {
			continue
		}
		n -= take
		dropped = r.resize(s, s.size-take) || dropped
	}
	return dropped
}
