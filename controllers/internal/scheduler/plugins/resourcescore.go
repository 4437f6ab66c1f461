package plugins

import (
	"math"
	"math/bits"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// ResourceStrategy is how NodeResourcesFit scores.
type ResourceStrategy struct {
	// Kind is the strategy.
	Kind StrategyKind
	// Resources are the resources that are compared.
	Resources []WeightedResource
	// Shape is the shape of RequestedToCapacityRatio: points by ascending utilization, scores of 0
	// to maxScore.
	Shape []ShapePoint
}

// StrategyKind is the kind of a ResourceStrategy.
type StrategyKind int

// The strategies of kube-scheduler.
const (
	LeastAllocated StrategyKind = iota
	MostAllocated
	RequestedToCapacityRatio
)

// WeightedResource is a resource with its weight in a score.
type WeightedResource struct {
	Name   corev1.ResourceName
	Weight int64
}

// ShapePoint is a point of a function from utilization, in percent, to score.
type ShapePoint struct{ Utilization, Score int64 }

func defaultResources() []WeightedResource {
	return []WeightedResource{{corev1.ResourceCPU, 1}, {corev1.ResourceMemory, 1}}
}

// amounts returns how much of a resource the pods would request with the pod on the node, and how
// much the node has. With defaults, containers without requests count with kube-scheduler's
// defaults. An extended resource that the pod does not request counts as 0 of 0, which is left out.
func (in *Input) amounts(p *framework.PodInfo, n *framework.NodeInfo, name corev1.ResourceName, defaults bool) (requested, allocatable int64) {
	switch name {
	case corev1.ResourceCPU:
		if defaults {
			return n.ScoredCPU + p.AskedCPU, n.Allocatable.MilliCPU
		}
		return n.Requested.MilliCPU + p.Requests.MilliCPU, n.Allocatable.MilliCPU
	case corev1.ResourceMemory:
		if defaults {
			return n.ScoredMemory + p.AskedMemory, n.Allocatable.Memory
		}
		return n.Requested.Memory + p.Requests.Memory, n.Allocatable.Memory
	case corev1.ResourceEphemeralStorage:
		return n.Requested.EphemeralStorage + p.Requests.EphemeralStorage, n.Allocatable.EphemeralStorage
	}
	if p.Requests.Scalar[name] == 0 {
		return 0, 0
	}
	requested, allocatable = in.extended(n, name)
	return requested + p.Requests.Scalar[name], allocatable
}

// extended returns how much of an extended resource is requested on a node, and how much the node has. Without
// a device plugin, it counts the devices of the class that backs the resource.
func (in *Input) extended(n *framework.NodeInfo, name corev1.ResourceName) (requested, allocatable int64) {
	if in.countDevices != nil && n.Node != nil && in.backed.leaves(name, n) {
		if all, allocated := in.countDevices(n.Node, in.backed[name]); all > 0 {
			return allocated, all
		}
	}
	return n.Requested.Scalar[name], n.Allocatable.Scalar[name]
}

// scorer compiles the strategy: the score of a node is the weighted mean over the resources that it
// has.
func (s ResourceStrategy) scorer() scoreFunc {
	if s.isDefault() {
		return scoreLeastAllocated
	}
	each, resources := s.each(), s.Resources
	round := s.Kind == RequestedToCapacityRatio
	return func(in *Input, indexes []int) ([]int64, func([]int64)) {
		scores := in.zeros(len(indexes))
		for i, index := range indexes {
			n := in.Snapshot.Nodes()[index]
			var sum, weights int64
			for _, r := range resources {
				requested, allocatable := in.amounts(in.Pod, n, r.Name, true)
				if allocatable == 0 {
					continue
				}
				score := each(requested, allocatable)
				if round && score == 0 {
					continue // kube-scheduler leaves such a resource out of this mean
				}
				sum += score * r.Weight
				weights += r.Weight
			}
			switch {
			case weights == 0:
			case round:
				scores[i] = int64(math.Round(float64(sum) / float64(weights)))
			default:
				scores[i] = sum / weights
			}
		}
		return scores, nil
	}
}

// each returns the score of one resource; the node must have more than 0 of it.
func (s ResourceStrategy) each() func(requested, allocatable int64) int64 {
	switch s.Kind {
	case MostAllocated:
		return func(requested, allocatable int64) int64 { return share(requested, allocatable) }
	case RequestedToCapacityRatio:
		return func(requested, allocatable int64) int64 { return interpolate(s.Shape, share(requested, allocatable)) }
	}
	return func(requested, allocatable int64) int64 {
		if requested > allocatable {
			return 0
		}
		return share(allocatable-requested, allocatable)
	}
}

// share returns 100 * part / whole, at most 100, without overflow.
func share(part, whole int64) int64 {
	switch {
	case part <= 0:
		return 0
	case part >= whole:
		return maxScore
	case part <= math.MaxInt64/maxScore:
		return part * maxScore / whole
	}
	high, low := bits.Mul64(uint64(part), maxScore)
	quotient, _ := bits.Div64(high, low, uint64(whole))
	return int64(quotient)
}

// interpolate returns the value at x of the function with the points.
func interpolate(points []ShapePoint, x int64) int64 {
	for i, p := range points {
		if x > p.Utilization {
			continue
		}
		if i == 0 {
			return p.Score
		}
		before := points[i-1]
		return before.Score + (p.Score-before.Score)*(x-before.Utilization)/(p.Utilization-before.Utilization)
	}
	return points[len(points)-1].Score
}

// balancedScorer favours nodes on which the pod brings the requested shares of the resources closer
// together: half of the score if it does not change their distance, more if it reduces it.
func balancedScorer(resources []corev1.ResourceName) scoreFunc {
	if isDefaultBalance(resources) {
		return scoreBalanced
	}
	none := &framework.PodInfo{}
	return func(in *Input, indexes []int) ([]int64, func([]int64)) {
		if !in.requestsAny(resources) {
			return nil, nil
		}
		scores := in.zeros(len(indexes))
		for i, index := range indexes {
			n := in.Snapshot.Nodes()[index]
			before, after := in.evenness(none, n, resources), in.evenness(in.Pod, n, resources)
			scores[i] = maxScore/2 + (maxScore/2+after-before)/2
		}
		return scores, nil
	}
}

func (in *Input) requestsAny(resources []corev1.ResourceName) bool {
	for _, name := range resources {
		if amount, _ := in.amounts(in.Pod, &emptyNode, name, false); amount > 0 {
			return true
		}
	}
	return false
}

// emptyNode is read-only.
var emptyNode framework.NodeInfo

// evenness is maxScore if the shares of the resources that are requested with p on the node are
// equal, less the higher their standard deviation is. Extended resources count if the pod of the decision
// requests them.
func (in *Input) evenness(p *framework.PodInfo, n *framework.NodeInfo, resources []corev1.ResourceName) int64 {
	var fractions [8]float64
	shares := fractions[:0]
	var sum float64
	for _, name := range resources {
		requested, allocatable := in.amounts(p, n, name, false)
		if p != in.Pod && in.Pod.Requests.Scalar[name] != 0 {
			requested, allocatable = in.extended(n, name)
		}
		if allocatable == 0 {
			continue
		}
		fraction := min(float64(requested)/float64(allocatable), 1)
		shares, sum = append(shares, fraction), sum+fraction
	}
	var deviation float64
	switch {
	case len(shares) == 2:
		deviation = math.Abs(shares[0]-shares[1]) / 2
	case len(shares) > 2:
		mean, squares := sum/float64(len(shares)), 0.0
		for _, s := range shares {
			squares += (s - mean) * (s - mean)
		}
		deviation = math.Sqrt(squares / float64(len(shares)))
	}
	return int64((1 - deviation) * maxScore)
}
