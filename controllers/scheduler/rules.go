package scheduler

// rules are what a pod's place is restricted by because of pods elsewhere: hard
// spread constraints, its own required (anti-)affinity and the required
// anti-affinity of others. They are counted once a decision; nil: there are none.
type rules struct {
	pod      *PodInfo
	snapshot *Snapshot

	spread []hardSpread
	// requires has a rule for each affinity term, which count the pods that match
	// all the terms. alone says that the pod does itself, so that it may be the
	// first.
	requires []affinityRule
	required int32 // the sum of what they count
	alone    bool
	// avoids has a rule for each anti-affinity term, avoidedBy for each topology
	// key of terms of others that the pod matches.
	avoids, avoidedBy []affinityRule
}

// affinityRule counts pods by the domains of a topology key.
type affinityRule struct {
	domains *domains
	pods    []int32
	// weigh is how often a pod counts.
	weigh func(o *PodInfo) int32
}

// shift is by how much each rule would count more in the domains of one node, if
// other pods were there than are; nil: not at all.
type shift []int32

func (s shift) at(i int) int32 {
	if s == nil {
		return 0
	}
	return s[i]
}

func (in *Input) newRules() *rules {
	r := &rules{pod: in.Pod, snapshot: in.Snapshot, spread: in.hardSpreads()}
	in.addOwnRules(r)
	in.addOthersRules(r)
	if r.len() == 0 {
		return nil
	}
	return r
}

func (in *Input) addOwnRules(r *rules) {
	var all []podMatch
	for i := range in.Pod.terms {
		switch t := &in.Pod.terms[i]; t.kind {
		case requires:
			all = append(all, t.match(in))
		case avoids:
			r.avoids = append(r.avoids, in.ruleFor(t.topologyKey, podSetOf(false, t.match(in))))
		}
	}
	if len(all) == 0 {
		return
	}
	set := podSetOf(false, all...)
	r.alone = set.has(in.Pod)
	for i := range in.Pod.terms {
		if t := &in.Pod.terms[i]; t.kind == requires {
			rule := in.ruleFor(t.topologyKey, set)
			for _, pods := range rule.pods {
				r.required += pods
			}
			r.requires = append(r.requires, rule)
		}
	}
}

func (in *Input) ruleFor(topologyKey string, set *PodSet) affinityRule {
	d := in.Snapshot.domainsOf(topologyKey)
	return affinityRule{domains: d, pods: d.sum(in.Snapshot, in.Snapshot.countsOf(set)), weigh: func(o *PodInfo) int32 {
		if set.has(o) {
			return 1
		}
		return 0
	}}
}

// addOthersRules counts the pods that do not want this one near, among them
// those for which room is being made.
func (in *Input) addOthersRules(r *rules) {
	var byKey map[string][]int32
	rule := func(t *affinityTerm) []int32 {
		if t.kind != avoids || !t.matches(in) {
			return nil
		}
		if byKey == nil {
			byKey = map[string][]int32{}
		}
		if byKey[t.topologyKey] == nil {
			byKey[t.topologyKey] = make([]int32, len(in.Snapshot.nodes)) // no key has more domains
		}
		return byKey[t.topologyKey]
	}
	for _, h := range in.Snapshot.tally.held {
		if pods := rule(h.term); pods != nil {
			for domain, n := range in.Snapshot.domainsOf(h.term.topologyKey).sum(in.Snapshot, h.counts) {
				pods[domain] += n
			}
		}
	}
	for _, nominated := range in.Nominated {
		for _, o := range nominated {
			for i := range o.terms {
				rule(&o.terms[i])
			}
		}
	}
	for key, pods := range byKey {
		r.avoidedBy = append(r.avoidedBy, affinityRule{domains: in.Snapshot.domainsOf(key), pods: pods, weigh: func(o *PodInfo) int32 {
			var n int32
			for i := range o.terms {
				if t := &o.terms[i]; t.kind == avoids && t.topologyKey == key && t.matches(in) {
					n++
				}
			}
			return n
		}})
	}
}

func (r *rules) len() int { return len(r.spread) + len(r.requires) + len(r.avoids) + len(r.avoidedBy) }

// shifted adds to a shift that a pod would come to (+1) or go from (-1) the node
// at the place. The given one stays as it is.
func (r *rules) shifted(s shift, place int, o *PodInfo, sign int32) shift {
	if r == nil {
		return nil
	}
	next := make(shift, r.len())
	copy(next, s)
	if haveKeys(r.spread, place) {
		for i := range r.spread {
			if h := &r.spread[i]; h.set.has(o) && h.counts(r.pod, r.snapshot.nodes[place]) {
				next[i] += sign
			}
		}
	}
	i := len(r.spread)
	for _, group := range [][]affinityRule{r.requires, r.avoids, r.avoidedBy} {
		for j := range group {
			next[i] += sign * group[j].weigh(o)
			i++
		}
	}
	return next
}

// filter says what PodTopologySpread and InterPodAffinity have against the node
// at the place.
func (r *rules) filter(place int, s shift) *rejection {
	if r == nil {
		return nil
	}
	for i := range r.spread {
		if rejected := r.spread[i].filter(place, s.at(i)); rejected != nil {
			return rejected
		}
	}
	first := len(r.spread)
	if len(r.requires) > 0 && !r.satisfied(place, s, first) {
		return fixed.affinityRules
	}
	first += len(r.requires)
	for i := range r.avoids {
		if r.avoids[i].count(place, s.at(first+i)) > 0 {
			return fixed.antiAffinity
		}
	}
	first += len(r.avoids)
	for i := range r.avoidedBy {
		if r.avoidedBy[i].count(place, s.at(first+i)) > 0 {
			return fixed.avoided
		}
	}
	return nil
}

// satisfied reports whether pods that match all terms are in each of the place's
// domains, or none are anywhere and the pod is to be the first.
func (r *rules) satisfied(place int, s shift, first int) bool {
	everywhere, total := true, r.required
	for i := range r.requires {
		rule := &r.requires[i]
		if rule.domains.at[place] == none {
			return false
		}
		everywhere = everywhere && rule.count(place, s.at(first+i)) > 0
		total += s.at(first + i)
	}
	return everywhere || total == 0 && r.alone
}

func (a *affinityRule) count(place int, more int32) int32 {
	domain := a.domains.at[place]
	if domain == none {
		return 0
	}
	return a.pods[domain] + more
}

// mayBeHelpedBy reports whether a pod that the rules kept from its node may be
// let in by the change, somewhere.
func (p *PodInfo) mayBeHelpedBy(c change) bool {
	if c.topology {
		return true
	}
	for i := range p.spread {
		if s := &p.spread[i]; s.hard && (c.added != nil && s.set.has(c.added) || c.removed != nil && s.set.has(c.removed)) {
			return true
		}
	}
	for i := range p.terms {
		switch t := &p.terms[i]; t.kind {
		case requires:
			if c.added != nil && t.mayMatch(c.added) {
				return true
			}
		case avoids:
			if c.removed != nil && t.mayMatch(c.removed) {
				return true
			}
		}
	}
	if c.removed != nil {
		for i := range c.removed.terms {
			if t := &c.removed.terms[i]; t.kind == avoids && t.mayMatch(p) {
				return true
			}
		}
	}
	return false
}
