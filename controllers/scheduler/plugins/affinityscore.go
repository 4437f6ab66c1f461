package plugins

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"minikcm.dev/minikcm/controllers/scheduler/framework"
)

// namespaceLabels calls Namespaces at most once per decision.
func (in *Input) namespaceLabels() map[string]labels.Set {
	if in.namespaces == nil && in.Namespaces != nil {
		in.namespaces = in.Namespaces()
	}
	return in.namespaces
}

// addAffinity adds InterPodAffinity's scores of the nodes at the indexes: from the pod's
// preferred terms, and from the terms of pods on nodes that match the pod.
func (in *Input) addAffinity(total []int64, indexes []int) {
	scores := map[string][]int64{} // by topology key and domain
	add := func(t *framework.AffinityTerm, counts []int32) {
		d := in.Snapshot.DomainsOf(t.TopologyKey)
		if scores[t.TopologyKey] == nil {
			scores[t.TopologyKey] = make([]int64, d.Len())
		}
		for domain, pods := range d.Sum(in.Snapshot, counts) {
			scores[t.TopologyKey][domain] += t.Weight * int64(pods)
		}
	}
	for i := range in.Pod.AffinityTerms {
		if t := &in.Pod.AffinityTerms[i]; t.Kind == framework.Preferred {
			add(t, in.Snapshot.CountsOf(framework.IntersectionOf(t.Match(in.namespaceLabels))))
		}
	}
	for _, h := range in.Snapshot.Held() {
		if h.Term.Weight != 0 && h.Term.Matches(in.Pod.Pod, in.namespaceLabels) {
			add(h.Term, h.Counts)
		}
	}
	raw := make([]int64, len(indexes))
	for key, byDomain := range scores {
		d := in.Snapshot.DomainsOf(key)
		for i, index := range indexes {
			if domain := d.Of(index); domain != framework.NoDomain {
				raw[i] += byDomain[domain]
			}
		}
	}
	least, most := slices.Min(raw), slices.Max(raw)
	if least == most {
		return
	}
	for i := range raw {
		total[i] += weightAffinity * int64(maxScore*(float64(raw[i]-least)/float64(most-least)))
	}
}
