package plugins

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// softSpread is a ScheduleAnyway constraint with its counts.
type softSpread struct {
	*framework.SpreadConstraint
	domains *framework.Domains
	// pods is the count by domain; nil for host names, which are counted by node.
	pods   []int32
	slots  []int32 // counts by slot
	weight float64
}

// scoreSpread is PodTopologySpread: the fewer counted pods are in a node's domains, the higher its
// score.
func scoreSpread(in *Input, indexes []int) ([]int64, func([]int64)) {
	constraints, requireKeys := in.spreadConstraints()
	if len(constraints) == 0 {
		return nil, nil
	}
	all := make([]softSpread, 0, len(constraints))
	for i := range constraints {
		if c := &constraints[i]; !c.Hard {
			all = append(all, softSpread{SpreadConstraint: c, domains: in.Snapshot.DomainsOf(c.TopologyKey), slots: in.Snapshot.CountsOf(c.Set)})
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	ignored := func(index int) bool { return requireKeys && !haveSoftKeys(all, index) }
	for i := range all {
		in.count(&all[i], indexes, ignored)
	}
	raw := in.zeros(len(indexes))
	for i, index := range indexes {
		if ignored(index) {
			raw[i] = framework.NoDomain
			continue
		}
		raw[i] = spreadScore(all, index, in.Snapshot.Slot(index))
	}
	return raw, normalizeSpread
}

func haveSoftKeys(all []softSpread, index int) bool {
	for i := range all {
		if all[i].domains.Of(index) == framework.NoDomain {
			return false
		}
	}
	return true
}

// count sets a constraint's counts by domain, and its weight, which grows with the number of
// domains.
func (in *Input) count(s *softSpread, indexes []int, ignored func(index int) bool) {
	considered := make([]bool, s.domains.Len())
	size, nodes, unlabelled := 0, 0, false
	for _, index := range indexes {
		if ignored(index) {
			continue
		}
		nodes++
		switch domain := s.domains.Of(index); {
		case domain == framework.NoDomain:
			unlabelled = true
		case !considered[domain]:
			considered[domain] = true
			size++
		}
	}
	if unlabelled {
		size++ // kube-scheduler counts the nodes without the label as one more domain
	}
	if s.TopologyKey == corev1.LabelHostname {
		s.weight = math.Log(float64(nodes + 2))
		return
	}
	s.weight = math.Log(float64(size + 2))
	s.pods = make([]int32, s.domains.Len())
	for index := range in.Snapshot.Len() {
		if domain := s.domains.Of(index); domain != framework.NoDomain && considered[domain] && !ignored(index) && s.Counts(in.Pod, in.Snapshot.Nodes()[index]) {
			s.pods[domain] += s.slots[in.Snapshot.Slot(index)]
		}
	}
}

func spreadScore(all []softSpread, index, slot int) int64 {
	var score float64
	for i := range all {
		s := &all[i]
		domain := s.domains.Of(index)
		if domain == framework.NoDomain {
			continue
		}
		pods := s.slots[slot]
		if s.pods != nil {
			pods = s.pods[domain]
		}
		score += float64(pods)*s.weight + float64(s.MaxSkew-1)
	}
	return int64(math.Round(score))
}

// normalizeSpread scales raw scores, where the lowest is the best. Nodes with a negative raw
// score get none.
func normalizeSpread(scores []int64) {
	least, most := int64(math.MaxInt64), int64(0)
	for _, score := range scores {
		if score >= 0 {
			least, most = min(least, score), max(most, score)
		}
	}
	for i, score := range scores {
		switch {
		case score < 0:
			scores[i] = 0
		case most == 0:
			scores[i] = maxScore
		default:
			scores[i] = maxScore * (most + least - score) / most
		}
	}
}
