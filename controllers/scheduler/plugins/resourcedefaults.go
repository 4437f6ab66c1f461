package plugins

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/scheduler/framework"
)

// The functions below are those of resourcescore.go for the resources of the default profile, CPU and
// memory of equal weight: nearly all decisions use them, and they look up no names.

func (s ResourceStrategy) isDefault() bool {
	return s.Kind == LeastAllocated && slices.Equal(s.Resources, defaultResources())
}

func scoreLeastAllocated(in *Input, indexes []int, scores []int64) (func([]int64), bool) {
	for i, index := range indexes {
		scores[i] = leastAllocated(in.Pod, in.Snapshot.Nodes()[index])
	}
	return nil, true
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

func isDefaultBalance(resources []corev1.ResourceName) bool {
	return slices.Equal(resources, []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory})
}

func scoreBalanced(in *Input, indexes []int, scores []int64) (func([]int64), bool) {
	p := in.Pod.Requests
	if p.MilliCPU <= 0 && p.Memory <= 0 {
		return nil, false
	}
	for i, index := range indexes {
		n := in.Snapshot.Nodes()[index]
		before := balance(n.Requested.MilliCPU, n.Requested.Memory, n.Allocatable)
		after := balance(n.Requested.MilliCPU+p.MilliCPU, n.Requested.Memory+p.Memory, n.Allocatable)
		scores[i] = maxScore/2 + (maxScore/2+after-before)/2
	}
	return nil, true
}

func balance(milliCPU, memory int64, allocatable framework.Resource) int64 {
	if allocatable.MilliCPU == 0 || allocatable.Memory == 0 {
		return maxScore // a single share is balanced
	}
	cpu := min(float64(milliCPU)/float64(allocatable.MilliCPU), 1)
	mem := min(float64(memory)/float64(allocatable.Memory), 1)
	deviation := math.Abs(cpu-mem) / 2 // the standard deviation of two values
	return int64((1 - deviation) * maxScore)
}
