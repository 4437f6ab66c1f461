package plugins

import "minikcm.dev/minikcm/controllers/internal/scheduler/framework"

// rules restrict the nodes of a pod because of pods on any node: hard spread constraints, its
// own required affinity and anti-affinity, and the required anti-affinity of others. They are
// counted once per decision. nil means that there are none.
type rules struct {
	pod      *framework.PodInfo
	snapshot *framework.Snapshot

	spread []hardSpread
	// requires has a rule for each affinity term. All count the pods that match all terms.
	// alone is set if the pod itself matches them, so that it may be the first one.
	requires []affinityRule
	required int32 // the sum of what they count
	alone    bool
	// avoids has a rule for each anti-affinity term, avoidedBy one for each topology key of
	// the other pods' terms that match the pod.
	avoids, avoidedBy []affinityRule
}

// affinityRule counts pods by the domains of a topology key.
type affinityRule struct {
	domains *framework.Domains
	pods    []int32
	// weigh returns how often a pod is counted.
	weigh func(o *framework.PodInfo) int32
}

// shift is the difference of each rule's count in the domains of one node between a
// hypothetical set of pods on the node and the actual one; nil: none.
type shift []int32

func (s shift) at(i int) int32 {
	if s == nil {
		return 0
	}
	return s[i]
}

func (in *Input) newRules() *rules {
	r := &rules{pod: in.Pod, snapshot: in.Snapshot}
	if in.profile.spread {
		r.spread = in.hardSpreads()
	}
	if in.profile.affinity {
		in.addOwnRules(r)
		in.addOthersRules(r)
	}
	if r.len() == 0 {
		return nil
	}
	return r
}

func (in *Input) addOwnRules(r *rules) {
	var all []framework.PodMatch
	for i := range in.Pod.AffinityTerms {
		switch t := &in.Pod.AffinityTerms[i]; t.Kind {
		case framework.RequiredAffinity:
			all = append(all, t.Match(in.namespaceLabels))
		case framework.RequiredAntiAffinity:
			r.avoids = append(r.avoids, in.ruleFor(t.TopologyKey, framework.IntersectionOf(t.Match(in.namespaceLabels))))
		}
	}
	if len(all) == 0 {
		return
	}
	set := framework.IntersectionOf(all...)
	r.alone = set.Has(in.Pod)
	for i := range in.Pod.AffinityTerms {
		if t := &in.Pod.AffinityTerms[i]; t.Kind == framework.RequiredAffinity {
			rule := in.ruleFor(t.TopologyKey, set)
			for _, pods := range rule.pods {
				r.required += pods
			}
			r.requires = append(r.requires, rule)
		}
	}
}

func (in *Input) ruleFor(topologyKey string, set *framework.PodSet) affinityRule {
	d := in.Snapshot.DomainsOf(topologyKey)
	return affinityRule{domains: d, pods: d.Sum(in.Snapshot, in.Snapshot.CountsOf(set)), weigh: func(o *framework.PodInfo) int32 {
		if set.Has(o) {
			return 1
		}
		return 0
	}}
}

// addOthersRules counts the pods with an anti-affinity term that matches this pod. Those of nominated pods
// count if another rule concerns the pod: otherwise kube-scheduler's PreFilter skips the plugin.
func (in *Input) addOthersRules(r *rules) {
	var byKey map[string][]int32
	rule := func(t *framework.AffinityTerm) []int32 {
		if t.Kind != framework.RequiredAntiAffinity || !t.Matches(in.Pod.Pod, in.namespaceLabels) {
			return nil
		}
		if byKey == nil {
			byKey = map[string][]int32{}
		}
		if byKey[t.TopologyKey] == nil {
			byKey[t.TopologyKey] = make([]int32, len(in.Snapshot.Nodes())) // the maximum number of domains
		}
		return byKey[t.TopologyKey]
	}
	concerned := len(r.requires)+len(r.avoids) > 0
	for _, h := range in.Snapshot.Held() {
		if pods := rule(h.Term); pods != nil {
			for domain, n := range in.Snapshot.DomainsOf(h.Term.TopologyKey).Sum(in.Snapshot, h.Counts) {
				pods[domain] += n
				concerned = concerned || n > 0
			}
		}
	}
	if !concerned {
		return
	}
	for _, nominated := range in.Nominated {
		for _, o := range nominated {
			for i := range o.AffinityTerms {
				rule(&o.AffinityTerms[i])
			}
		}
	}
	for key, pods := range byKey {
		r.avoidedBy = append(r.avoidedBy, affinityRule{domains: in.Snapshot.DomainsOf(key), pods: pods, weigh: func(o *framework.PodInfo) int32 {
			var n int32
			for i := range o.AffinityTerms {
				if t := &o.AffinityTerms[i]; t.Kind == framework.RequiredAntiAffinity && t.TopologyKey == key && t.Matches(in.Pod.Pod, in.namespaceLabels) {
					n++
				}
			}
			return n
		}})
	}
}

func (r *rules) len() int { return len(r.spread) + len(r.requires) + len(r.avoids) + len(r.avoidedBy) }

// shifted returns the shift with a pod added to (+1) or removed from (-1) the node at the
// index. It does not change s.
func (r *rules) shifted(s shift, index int, o *framework.PodInfo, sign int32) shift {
	if r == nil {
		return nil
	}
	next := make(shift, r.len())
	copy(next, s)
	if haveKeys(r.spread, index) {
		for i := range r.spread {
			if h := &r.spread[i]; h.Shifts(r.pod, o) && h.Counts(r.pod, r.snapshot.Nodes()[index]) {
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

// filter returns the rejection of the node at the index by PodTopologySpread or
// InterPodAffinity; nil: none.
func (r *rules) filter(index int, s shift) *rejection {
	if r == nil {
		return nil
	}
	for i := range r.spread {
		if rejected := r.spread[i].filter(index, s.at(i)); rejected != nil {
			return rejected
		}
	}
	first := len(r.spread)
	if len(r.requires) > 0 && !r.satisfied(index, s, first) {
		return fixed.affinityRules
	}
	first += len(r.requires)
	for i := range r.avoids {
		if r.avoids[i].count(index, s.at(first+i)) > 0 {
			return fixed.antiAffinity
		}
	}
	first += len(r.avoids)
	for i := range r.avoidedBy {
		if r.avoidedBy[i].count(index, s.at(first+i)) > 0 {
			return fixed.avoided
		}
	}
	return nil
}

// satisfied reports whether each domain of the node at the index has pods that match all
// terms, or no node has any and the pod may be the first one.
func (r *rules) satisfied(index int, s shift, first int) bool {
	everywhere, total := true, r.required
	for i := range r.requires {
		rule := &r.requires[i]
		if rule.domains.Of(index) == framework.NoDomain {
			return false
		}
		everywhere = everywhere && rule.count(index, s.at(first+i)) > 0
		total += s.at(first + i)
	}
	return everywhere || total == 0 && r.alone
}

func (a *affinityRule) count(index int, more int32) int32 {
	domain := a.domains.Of(index)
	if domain == framework.NoDomain {
		return 0
	}
	return a.pods[domain] + more
}
