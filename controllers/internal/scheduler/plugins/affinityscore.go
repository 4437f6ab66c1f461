package plugins

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// namespaceLabels calls Namespaces at most once per decision.
func (in *Input) namespaceLabels() map[string]labels.Set {
	if in.namespaces == nil && in.Namespaces != nil {
		in.namespaces = in.Namespaces()
	}
	return in.namespaces
}

// scoreAffinity is InterPodAffinity: it scores nodes by the pod's preferred terms, and by the terms
// of pods on nodes that match the pod.
func scoreAffinity(in *Input, indexes []int) ([]int64, func([]int64)) {
	if len(in.Pod.AffinityTerms) == 0 && len(in.Snapshot.Held()) == 0 || in.profile.ignorePreferred && !in.Pod.Prefers() {
		return nil, nil
	}
	byKey := map[string][]int64{} // by topology key and domain
	add := func(t *framework.AffinityTerm, weight int64, counts []int32) {
		d := in.Snapshot.DomainsOf(t.TopologyKey)
		if byKey[t.TopologyKey] == nil {
			byKey[t.TopologyKey] = make([]int64, d.Len())
		}
		for domain, pods := range d.Sum(in.Snapshot, counts) {
			byKey[t.TopologyKey][domain] += weight * int64(pods)
		}
	}
	for i := range in.Pod.AffinityTerms {
		if t := &in.Pod.AffinityTerms[i]; t.Kind == framework.Preferred {
			add(t, t.Weight, in.Snapshot.CountsOf(framework.IntersectionOf(t.Match(in.namespaceLabels))))
		}
	}
	for _, h := range in.Snapshot.Held() {
		if weight := in.heldWeight(h.Term); weight != 0 && h.Term.Matches(in.Pod.Pod, in.namespaceLabels) {
			add(h.Term, weight, h.Counts)
		}
	}
	if len(byKey) == 0 {
		return nil, nil
	}
	raw := in.zeros(len(indexes))
	for key, byDomain := range byKey {
		d := in.Snapshot.DomainsOf(key)
		for i, index := range indexes {
			if domain := d.Of(index); domain != framework.NoDomain {
				raw[i] += byDomain[domain]
			}
		}
	}
	return raw, normalizeRange
}

// heldWeight returns the weight of a term of pods on nodes.
func (in *Input) heldWeight(t *framework.AffinityTerm) int64 {
	if t.Kind == framework.RequiredAffinity {
		return in.profile.hardAffinityWeight
	}
	return t.Weight
}

// normalizeRange scales scores so that the lowest becomes 0 and the highest maxScore.
func normalizeRange(scores []int64) {
	least, most := slices.Min(scores), slices.Max(scores)
	for i := range scores {
		if least == most {
			scores[i] = 0
			continue
		}
		scores[i] = int64(maxScore * (float64(scores[i]-least) / float64(most-least)))
	}
}
