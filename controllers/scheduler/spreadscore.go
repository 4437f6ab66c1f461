package scheduler

import (
	"math"

	corev1 "k8s.io/api/core/v1"
)

// softSpread is a ScheduleAnyway constraint with what it counts.
type softSpread struct {
	*spreadConstraint
	domains *domains
	// pods counts by domain; nil for host names, which count by node.
	pods   []int32
	slots  []int32 // counts by slot
	weight float64
}

// addSpread adds PodTopologySpread's scores of the nodes at the places: the fewer
// of the counted pods are in a node's domains, the better.
func (in *Input) addSpread(total []int64, places []int) {
	constraints, requireKeys := in.Pod.spread, true
	if len(constraints) == 0 {
		if in.Siblings == nil {
			return
		}
		constraints, requireKeys = defaultSpread(in.Siblings), false
	}
	all := make([]softSpread, 0, len(constraints))
	for i := range constraints {
		if c := &constraints[i]; !c.hard {
			all = append(all, softSpread{spreadConstraint: c, domains: in.Snapshot.domainsOf(c.topologyKey), slots: in.Snapshot.countsOf(c.set)})
		}
	}
	if len(all) == 0 {
		return
	}
	ignored := func(place int) bool { return requireKeys && !haveSoftKeys(all, place) }
	for i := range all {
		in.count(&all[i], places, ignored)
	}
	raw := make([]int64, len(places))
	for i, place := range places {
		if ignored(place) {
			raw[i] = none
			continue
		}
		raw[i] = spreadScore(all, place, in.Snapshot.slots[place])
	}
	addSpreadNormalized(total, raw)
}

func haveSoftKeys(all []softSpread, place int) bool {
	for i := range all {
		if all[i].domains.at[place] == none {
			return false
		}
	}
	return true
}

// count fills in a constraint's counts in the domains of the places, and its
// weight, which grows with the number of those domains: the skew within many
// counts for more than that within few.
func (in *Input) count(s *softSpread, places []int, ignored func(place int) bool) {
	considered := make([]bool, s.domains.n)
	size, nodes, unlabelled := 0, 0, false
	for _, place := range places {
		if ignored(place) {
			continue
		}
		nodes++
		switch domain := s.domains.at[place]; {
		case domain == none:
			unlabelled = true
		case !considered[domain]:
			considered[domain] = true
			size++
		}
	}
	if unlabelled {
		size++ // nodes without the label are one more domain, in kube-scheduler's sum
	}
	if s.topologyKey == corev1.LabelHostname {
		s.weight = math.Log(float64(nodes + 2))
		return
	}
	s.weight = math.Log(float64(size + 2))
	s.pods = make([]int32, s.domains.n)
	for place, domain := range s.domains.at {
		if domain != none && considered[domain] && !ignored(place) && s.counts(in.Pod, in.Snapshot.nodes[place]) {
			s.pods[domain] += s.slots[in.Snapshot.slots[place]]
		}
	}
}

func spreadScore(all []softSpread, place, slot int) int64 {
	var score float64
	for i := range all {
		s := &all[i]
		domain := s.domains.at[place]
		if domain == none {
			continue
		}
		pods := s.slots[slot]
		if s.pods != nil {
			pods = s.pods[domain]
		}
		score += float64(pods)*s.weight + float64(s.maxSkew-1)
	}
	return int64(math.Round(score))
}

// addSpreadNormalized adds raw scores, where less is better and negative ones
// stand for nodes that get nothing.
func addSpreadNormalized(total, raw []int64) {
	least, most := int64(math.MaxInt64), int64(0)
	for _, score := range raw {
		if score >= 0 {
			least, most = min(least, score), max(most, score)
		}
	}
	for i, score := range raw {
		switch {
		case score < 0:
		case most == 0:
			total[i] += weightSpread * maxScore
		default:
			total[i] += weightSpread * (maxScore * (most + least - score) / most)
		}
	}
}
