package plugins

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

// volumeScorer is the score of VolumeBinding (KEP-4049). With the default shape, a node scores higher if the
// pod's unbound claims request a smaller share of the capacity of its volumes, or of the storage systems that
// create them.
func volumeScorer(shape []ShapePoint) scoreFunc {
	return func(in *Input, indexes []int) ([]int64, func([]int64)) {
		if in.Volumes == nil || !in.profile.binding || !slices.ContainsFunc(in.Volumes.Claims, func(c Claim) bool { return !Bound(c.Object) }) {
			return nil, nil
		}
		scores := in.zeros(len(indexes))
		for i, index := range indexes {
			plan, _ := in.Volumes.plan(in.Snapshot.Nodes()[index].Node)
			scores[i] = plan.score(shape)
		}
		return scores, nil
	}
}

// usage is how much of a capacity is requested, in bytes.
type usage struct{ requested, capacity int64 }

// score is the mean over the classes of the claims. Claims to be provisioned count only if none is to be bound.
func (p *VolumePlan) score(shape []ShapePoint) int64 {
	byClass := map[string]usage{}
	for _, b := range p.Bind {
		class := storagehelpers.GetPersistentVolumeClass(b.Volume)
		s := byClass[class]
		byClass[class] = usage{
			s.requested + bytesOf(b.Claim.Spec.Resources.Requests[corev1.ResourceStorage]),
			s.capacity + bytesOf(b.Volume.Spec.Capacity[corev1.ResourceStorage]),
		}
	}
	for i, claim := range p.Provision {
		capacity := p.capacities[i]
		if len(p.Bind) > 0 || capacity == nil || capacity.Capacity == nil {
			continue
		}
		class := storagehelpers.GetPersistentVolumeClaimClass(claim)
		byClass[class] = usage{byClass[class].requested + bytesOf(claim.Spec.Resources.Requests[corev1.ResourceStorage]), capacity.Capacity.Value()}
	}
	if len(byClass) == 0 {
		return 0
	}
	var sum int64
	for _, s := range byClass {
		utilization := int64(100)
		if s.capacity > 0 {
			utilization = share(s.requested, s.capacity)
		}
		sum += interpolate(shape, utilization)
	}
	return int64(math.Round(float64(sum) / float64(len(byClass))))
}

func bytesOf(q resource.Quantity) int64 { return q.Value() }
