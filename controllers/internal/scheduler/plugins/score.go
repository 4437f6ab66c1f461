package plugins

import (
	"slices"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// maxScore is the highest score of one plugin.
const maxScore = 100

// The weights of kube-scheduler's default profile.
const (
	weightLeastAllocated = 1
	weightBalanced       = 1
	weightNodeAffinity   = 2
	weightTaints         = 3
	weightSpread         = 2
	weightAffinity       = 2
	weightDevices        = 2
	weightVolumes        = 1
	weightImages         = 1
)

// scorer is a plugin of a profile that scores nodes.
type scorer struct {
	name   string
	weight int64
	score  scoreFunc
	// merged is set if addResources has the plugin's scores: score is for traces.
	merged bool
}

// scoreFunc returns the scores of the nodes at the indexes, in the memory of zeros, and a function
// that scales them to 0 to maxScore (nil: they are scaled already). It returns no scores if the
// plugin does not score the pod (kube-scheduler's Skip of PreScore) or, unless the decision is
// traced, scores all nodes equally.
type scoreFunc func(in *Input, indexes []int) (scores []int64, normalize func(scores []int64))

// scorer returns the function of a plugin; nil: it scores nothing.
func (spec *ProfileSpec) scorer(name string) scoreFunc {
	switch name {
	case TaintToleration:
		return scoreTaints
	case NodeAffinity:
		return scoreNodeAffinity
	case NodeResourcesFit:
		return spec.Fit.scorer()
	case PodTopologySpread:
		return scoreSpread
	case InterPodAffinity:
		return scoreAffinity
	case DynamicResources:
		return scoreDevices
	case VolumeBinding:
		return volumeScorer(spec.VolumeShape)
	case BalancedAllocation:
		return balancedScorer(spec.Balanced)
	case ImageLocality:
		return scoreImages
	}
	return nil
}

// scores returns the weighted sums of the plugins' scores of the nodes at the indexes.
func (in *Input) scores(indexes []int) []int64 {
	total := make([]int64, len(indexes))
	if in.Trace == nil {
		in.addResources(indexes, total)
	}
	for i := range in.profile.scorers {
		s := &in.profile.scorers[i]
		if s.merged && in.Trace == nil {
			continue
		}
		scores, normalize := s.score(in, indexes)
		if scores == nil {
			continue
		}
		if in.Trace != nil {
			in.Trace.raw(in, s, indexes, scores)
		}
		if normalize != nil {
			normalize(scores)
		}
		if in.Trace != nil {
			in.Trace.final(s, scores)
		}
		for j, score := range scores {
			total[j] += s.weight * score
		}
	}
	return total
}

// zeros returns a zero for each of n nodes, in the same memory for all plugins of a decision. Many
// decisions need none.
func (in *Input) zeros(n int) []int64 {
	if in.scratch == nil {
		in.scratch = make([]int64, n)
	} else {
		clear(in.scratch)
	}
	return in.scratch
}

func scoreNodeAffinity(in *Input, indexes []int) ([]int64, func([]int64)) {
	own, added := in.Pod.PreferredNodeAffinity, in.profile.addedPreferred
	if own == nil && added == nil {
		return nil, nil
	}
	scores := in.zeros(len(indexes))
	for i, index := range indexes {
		node := in.Snapshot.Nodes()[index].Node
		if own != nil {
			scores[i] = own.Score(node)
		}
		if added != nil {
			scores[i] += added.Score(node)
		}
	}
	return scores, normalizeHighest
}

func scoreTaints(in *Input, indexes []int) ([]int64, func([]int64)) {
	if !in.Snapshot.HasSoftTaints() && in.Trace == nil {
		return nil, nil
	}
	scores := in.zeros(len(indexes))
	for i, index := range indexes {
		scores[i] = untolerated(in.Pod, in.Snapshot.Nodes()[index])
	}
	return scores, normalizeLowest
}

// untolerated counts the node's PreferNoSchedule taints that the pod does not
// tolerate.
func untolerated(p *framework.PodInfo, n *framework.NodeInfo) int64 {
	var count int64
	for i := range n.SoftTaints {
		if !framework.Tolerates(p.SoftTolerations, &n.SoftTaints[i]) {
			count++
		}
	}
	return count
}

// normalizeHighest scales scores so that the highest becomes maxScore.
func normalizeHighest(scores []int64) {
	if highest := slices.Max(scores); highest > 0 {
		for i := range scores {
			scores[i] = scores[i] * maxScore / highest
		}
	}
}

// normalizeLowest is normalizeHighest for scores where the highest is the worst.
func normalizeLowest(scores []int64) {
	normalizeHighest(scores)
	for i := range scores {
		scores[i] = maxScore - scores[i]
	}
}
