package eviction

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// diskSignal is the index of DiskAvailable in signals.
const diskSignal = 1

// volume is an emptyDir volume of a pod.
type volume struct {
	name string
	// limit is its sizeLimit; nil if it has none.
	limit *resource.Quantity
	// memory means that the content is kept in memory.
	memory bool
	used   float64
}

// LimitsStorage reports whether a pod is evicted if it stores too much: whether an emptyDir volume
// has a sizeLimit, or a container a limit of ephemeral storage.
func LimitsStorage(pod *corev1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if dir := pod.Spec.Volumes[i].EmptyDir; dir != nil && dir.SizeLimit != nil && dir.SizeLimit.Sign() > 0 {
			return true
		}
	}
	limits := func(c corev1.Container) bool {
		_, limited := c.Resources.Limits[corev1.ResourceEphemeralStorage]
		return limited
	}
	return slices.ContainsFunc(pod.Spec.Containers, limits) || slices.ContainsFunc(pod.Spec.InitContainers, limits)
}

// Store records the bytes that the containers of the pod have written into its own volumes, by name,
// and into their root file systems, by the container's name. It must be called after the containers
// have been added.
func (p *Pod) Store(volumes, containers map[string]int64) {
	for i := range p.Object.Spec.Volumes {
		v := &p.Object.Spec.Volumes[i]
		if v.EmptyDir == nil {
			continue
		}
		own := volume{name: v.Name, memory: v.EmptyDir.Medium == corev1.StorageMediumMemory, used: float64(volumes[v.Name])}
		if limit := v.EmptyDir.SizeLimit; limit != nil && limit.Sign() > 0 {
			own.limit = limit
		}
		p.volumes = append(p.volumes, own)
	}
	for i := range p.Containers {
		c := &p.Containers[i]
		c.written = float64(containers[c.Spec.Name])
	}
}

// stored returns the size of the pod's volumes on the node's disk.
func (p *Pod) stored() float64 {
	var sum float64
	for i := range p.volumes {
		if !p.volumes[i].memory {
			sum += p.volumes[i].used
		}
	}
	return sum
}

// exceededVolume returns why the pod is evicted for the limit of a volume; empty if it is not.
func (p *Pod) exceededVolume() string {
	for i := range p.volumes {
		if v := &p.volumes[i]; v.limit != nil && v.used > v.limit.AsApproximateFloat64() {
			return fmt.Sprintf("Usage of EmptyDir volume %q exceeds the limit %q. ", v.name, v.limit.String())
		}
	}
	return ""
}

// canExceed reports whether the pod can ever exceed its limits with the containers that it has now.
func (p *Pod) canExceed() bool {
	if p.Evicted || len(p.Containers) == 0 || Critical(p.Object) {
		return false
	}
	if p.exceededVolume() != "" {
		return true
	}
	if p.diskLimit == nil {
		return false
	}
	sum := p.stored()
	for i := range p.Containers {
		c := &p.Containers[i]
		most := c.most(diskSignal)
		sum += most
		if limit, ok := c.Spec.Resources.Limits[corev1.ResourceEphemeralStorage]; ok && !limit.IsZero() && most > limit.AsApproximateFloat64() {
			return true
		}
	}
	return sum > p.diskLimit.AsApproximateFloat64()
}
