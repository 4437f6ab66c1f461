package scheduler

import "math"

// maxScore is the best that one plugin can say of a node.
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

// scores returns the weighted sums of the nodes at the places, in their order.
func (in *Input) scores(places []int) []int64 {
	p, nodes := in.Pod, in.Snapshot.nodes
	total := make([]int64, len(places))
	balanced := p.Requests.MilliCPU > 0 || p.Requests.Memory > 0
	soft := false
	for i, place := range places {
		n := nodes[place]
		total[i] = weightLeastAllocated * leastAllocated(p, n)
		if balanced {
			total[i] += weightBalanced * balancedAllocation(p, n)
		}
		soft = soft || len(n.soft) > 0
	}
	if p.preferred != nil {
		addNormalized(total, weightNodeAffinity, false, func(i int) int64 { return p.preferred.Score(nodes[places[i]].Node) })
	}
	if soft {
		addNormalized(total, weightTaints, true, func(i int) int64 { return untolerated(p, nodes[places[i]]) })
	}
	in.addSpread(total, places)
	if len(p.terms) > 0 || len(in.Snapshot.tally.held) > 0 {
		in.addAffinity(total, places)
	}
	return total
}

// leastAllocated is the mean of the free parts of CPU and memory with the pod on
// the node.
func leastAllocated(p *PodInfo, n *NodeInfo) int64 {
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
	add(n.scoredCPU+p.scoredCPU, n.Allocatable.MilliCPU)
	add(n.scoredMemory+p.scoredMemory, n.Allocatable.Memory)
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// balancedAllocation favours the node on which the pod evens out the shares of
// CPU and memory that are requested: half of the score for leaving them as even
// as they were, more for making them more so.
func balancedAllocation(p *PodInfo, n *NodeInfo) int64 {
	before := evenness(n.Requested.MilliCPU, n.Requested.Memory, n.Allocatable)
	after := evenness(n.Requested.MilliCPU+p.Requests.MilliCPU, n.Requested.Memory+p.Requests.Memory, n.Allocatable)
	return maxScore/2 + (maxScore/2+after-before)/2
}

func evenness(milliCPU, memory int64, allocatable Resource) int64 {
	if allocatable.MilliCPU == 0 || allocatable.Memory == 0 {
		return maxScore // one share is always even with itself
	}
	cpu := min(float64(milliCPU)/float64(allocatable.MilliCPU), 1)
	mem := min(float64(memory)/float64(allocatable.Memory), 1)
	deviation := math.Abs(cpu-mem) / 2 // the standard deviation of two values
	return int64((1 - deviation) * maxScore)
}

// untolerated counts the node's PreferNoSchedule taints that the pod does not
// tolerate.
func untolerated(p *PodInfo, n *NodeInfo) int64 {
	var count int64
	for i := range n.soft {
		if !tolerates(p.softTolerations, &n.soft[i]) {
			count++
		}
	}
	return count
}

// addNormalized adds a plugin's raw scores, stretched so that the highest is
// maxScore. If reverse, the highest raw score is the worst.
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
