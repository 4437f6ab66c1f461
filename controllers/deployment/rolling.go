package deployment

import "slices"

// roll takes the next step of a rolling update: it grows the new ReplicaSet, or
// else shrinks old ones, or else is done.
func (r *rollout) roll() {
	r.ensureNew()
	if r.sizeNew() || r.shrinkOld() {
		return
	}
	r.cleanUpIfComplete()
}

// sizeNew grows the new ReplicaSet as far as maxSurge lets it, or shrinks it to
// what is wanted; it reports whether that is a change.
func (r *rollout) sizeNew() bool {
	if r.new.unborn {
		return false // ensureNew has given it its size
	}
	size := r.wanted
	if r.new.size < r.wanted {
		size = r.newSize()
	}
	return r.resize(r.new, size)
}

// newSize is the size that the new ReplicaSet may have now.
func (r *rollout) newSize() int32 {
	if r.recreates() {
		return r.wanted
	}
	// Of a ReplicaSet that has not yet seen that it is to shrink, nobody knows how
	// many pods it has. It will say so in a moment.
	if slices.ContainsFunc(r.all(), func(s *set) bool { return !s.observed() }) {
		return r.new.size
	}
	room := r.wanted + r.limits.surge - sum(r.all(), (*set).pods)
	if room <= 0 {
		return r.new.size
	}
	return r.new.size + min(room, r.wanted-r.new.size)
}

// shrinkOld shrinks the old ReplicaSets as far as maxUnavailable lets it; it
// reports whether that is a change.
func (r *rollout) shrinkOld() bool {
	old := activeOf(r.old)
	if len(old) == 0 {
		return false
	}
	slices.SortFunc(old, byAge)
	least := r.wanted - r.limits.unavailable
	// Were all old pods available, so many could go.
	spare := sum(r.all(), sizeOf) - least - (r.new.size - r.new.available())
	if spare <= 0 {
		return false
	}
	unhealthy := r.dropUnhealthy(old, spare)
	surplus := sum(r.all(), (*set).available) - least
	healthy := r.drop(old, surplus, func(s *set) int32 { return s.size })
	return unhealthy || healthy
}

// dropUnhealthy takes up to n pods that are not available from the old
// ReplicaSets: nobody misses them, and they could stand in the way for ever.
func (r *rollout) dropUnhealthy(old []*set, n int32) bool {
	return r.drop(old, n, func(s *set) int32 {
		if !s.observed() {
			return 0
		}
		return s.size - s.available()
	})
}

// drop takes up to n pods from the sets, oldest first, and no more from each than
// most allows; it reports whether it took any.
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
