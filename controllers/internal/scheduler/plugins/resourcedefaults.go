package plugins

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// The functions below specialize resourcescore.go's for the resources of the default profile, CPU and
// memory of equal weight: nearly all decisions use them, and they look up no names.

// addResources adds the weighted scores of both plugins to total, in one pass over the nodes: a pass
// for each plugin would wait for each node's memory again.
func (in *Input) addResources(indexes []int, total []int64) {
	fit, balanced := in.profile.weightFit, in.profile.weightBalanced
	if !balances(in.Pod) {
		balanced = 0
	}
	if fit == 0 && balanced == 0 {
		return
	}
	nodes, pod := in.Snapshot.Nodes(), in.Pod
	for i, index := range indexes {
		n := nodes[index]
		if fit != 0 {
			total[i] += fit * leastAllocated(pod, n)
		}
		if balanced != 0 {
			total[i] += balanced * balancing(pod, n)
		}
	}
}

func (s ResourceStrategy) isDefault() bool {
	return s.Kind == LeastAllocated && slices.Equal(s.Resources, defaultResources())
}

func scoreLeastAllocated(in *Input, indexes []int) ([]int64, func([]int64)) {
	scores := in.zeros(len(indexes))
	for i, index := range indexes {
		scores[i] = leastAllocated(in.Pod, in.Snapshot.Nodes()[index])
	}
	return scores, nil
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
	add(n.ScoredCPU+p.AskedCPU, n.Allocatable.MilliCPU)
	add(n.ScoredMemory+p.AskedMemory, n.Allocatable.Memory)
	if weights == 0 {
		return 0
	}
	return sum / weights
}

func isDefaultBalance(resources []corev1.ResourceName) bool {
	return slices.Equal(resources, []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory})
}

// balances reports whether the pod requests a resource that NodeResourcesBalancedAllocation compares.
func balances(p *framework.PodInfo) bool { return p.Requests.MilliCPU > 0 || p.Requests.Memory > 0 }

func scoreBalanced(in *Input, indexes []int) ([]int64, func([]int64)) {
	if !balances(in.Pod) {
		return nil, nil
	}
	scores := in.zeros(len(indexes))
	for i, index := range indexes {
		scores[i] = balancing(in.Pod, in.Snapshot.Nodes()[index])
	}
	return scores, nil
}

// balancing is half of maxScore if the pod does not change how far apart the requested shares of CPU
// and memory are, and more if it brings them together.
func balancing(p *framework.PodInfo, n *framework.NodeInfo) int64 {
	before := balance(n.Requested.MilliCPU, n.Requested.Memory, &n.Allocatable)
	after := balance(n.Requested.MilliCPU+p.Requests.MilliCPU, n.Requested.Memory+p.Requests.Memory, &n.Allocatable)
	return maxScore/2 + (maxScore/2+after-before)/2
}

func balance(milliCPU, memory int64, allocatable *framework.Resource) int64 {
	if allocatable.MilliCPU == 0 || allocatable.Memory == 0 {
		return maxScore // a single share is balanced
	}
	cpu := min(float64(milliCPU)/float64(allocatable.MilliCPU), 1)
	mem := min(float64(memory)/float64(allocatable.Memory), 1)
	deviation := math.Abs(cpu-mem) / 2 // the standard deviation of two values
	return int64((1 - deviation) * maxScore)
}
