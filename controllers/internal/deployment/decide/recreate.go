package decide

// recreate takes the next step of a rollout that ends all old pods before it creates new
// ones.
func (r *rollout) recreate() {
	shrunk := false
	for _, s := range activeOf(r.old) {
		shrunk = r.resize(s, 0) || shrunk
	}
	if shrunk || r.oldPodsRun() {
		return
	}
	r.ensureNew()
	if !r.new.unborn {
		r.resize(r.new, r.wanted)
	}
	r.cleanUpIfComplete()
}

// oldPodsRun reports whether a pod of an old ReplicaSet has not ended yet. A pod that is
// being deleted counts until it is gone.
func (r *rollout) oldPodsRun() bool {
	if sum(r.old, func(s *set) int32 { return s.Status.Replicas }) > 0 {
		return true
	}
	for _, s := range r.old {
		if r.in.Running[s.UID] > 0 || !s.observed() {
			return true
		}
	}
	return false
}
