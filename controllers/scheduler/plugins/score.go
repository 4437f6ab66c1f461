package plugins

import (
	"math"

	"minikcm.dev/minikcm/controllers/scheduler/framework"
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
)

// scores returns the weighted sums of the plugins' scores of the nodes at the indexes.
func (in *Input) scores(indexes []int) []int64 {
	p, nodes := in.Pod, in.Snapshot.Nodes()
	total := make([]int64, len(indexes))
	balanced := p.Requests.MilliCPU > 0 || p.Requests.Memory > 0
	soft := false
	for i, index := range indexes {
		n := nodes[index]
		total[i] = weightLeastAllocated * leastAllocated(p, n)
		if balanced {
			total[i] += weightBalanced * balancedAllocation(p, n)
		}
		soft = soft || len(n.SoftTaints) > 0
	}
	if p.PreferredNodeAffinity != nil {
		addNormalized(total, weightNodeAffinity, false, func(i int) int64 { return p.PreferredNodeAffinity.Score(nodes[indexes[i]].Node) })
	}
	if soft {
		addNormalized(total, weightTaints, true, func(i int) int64 { return untolerated(p, nodes[indexes[i]]) })
	}
	in.addSpread(total, indexes)
	if len(p.AffinityTerms) > 0 || len(in.Snapshot.Held()) > 0 {
		in.addAffinity(total, indexes)
	}
	return total
}

// leastAllocated is the mean of the free shares of CPU and memory with the pod on the node.
func leastAllocated(p *framework.PodInfo, n *framework.NodeInfo) int64 {
	var sum, weights int64
	add := func(requested, allocatable int64) {
		if allocatable == 0 {
			return
		}
		weights++
		if requested <= allocatable {
			sum += (allocatable - requested) * maxScore / allocatable
		}
	}
	add(n.ScoredCPU+p.ScoredCPU, n.Allocatable.MilliCPU)
	add(n.ScoredMemory+p.ScoredMemory, n.Allocatable.Memory)
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// balancedAllocation favours nodes on which the pod brings the requested shares of CPU and
// memory closer together: half of the score if it does not change their distance, more if it
// reduces it.
func balancedAllocation(p *framework.PodInfo, n *framework.NodeInfo) int64 {
	before := evenness(n.Requested.MilliCPU, n.Requested.Memory, n.Allocatable)
	after := evenness(n.Requested.MilliCPU+p.Requests.MilliCPU, n.Requested.Memory+p.Requests.Memory, n.Allocatable)
	return maxScore/2 + (maxScore/2+after-before)/2
}

func evenness(milliCPU, memory int64, allocatable framework.Resource) int64 {
	if allocatable.MilliCPU == 0 || allocatable.Memory == 0 {
		return maxScore // a single share is balanced
	}
	cpu := min(float64(milliCPU)/float64(allocatable.MilliCPU), 1)
	mem := min(float64(memory)/float64(allocatable.Memory), 1)
	deviation := math.Abs(cpu-mem) / 2 // the standard deviation of two values
	return int64((1 - deviation) * maxScore)
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

// addNormalized adds a plugin's raw scores, scaled so that the highest becomes maxScore. If
// reverse is set, the highest raw score is the worst.
func addNormalized(total []int64, weight int64, reverse bool, raw func(i int) int64) {
	values := make([]int64, len(total))
	var highest int64
	for i := range total {
		values[i] = raw(i)
		highest = max(highest, values[i])
	}
	for i, value := range values {
		if highest > 0 {
			value = value * maxScore / highest
		}
		if reverse {
			value = maxScore - value
		}
		total[i] += weight * value
	}
}
