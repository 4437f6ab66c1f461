package usage

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ResourcePIDs is the number of processes, by the name that upstream's kubelet gives it.
const ResourcePIDs corev1.ResourceName = "pids"

// Demand is what a running container uses of memory, ephemeral storage or PIDs over time, without
// shared loads and noise. The zero value uses nothing.
type Demand struct {
	load  Load
	since time.Time
	// bound is the most that the container can use; 0: there is none. A container with more
	// memory than its limit is killed.
	bound float64
}

// DemandOf returns the demand of a container that has run since the given time. declared reports
// whether an annotation states it. Otherwise memory is that of a container without a load, and
// the rest is nothing.
func DemandOf(pod *corev1.Pod, c *corev1.Container, name corev1.ResourceName, since time.Time) (d Demand, declared bool) {
	d.since = since
	if limit, ok := c.Resources.Limits[name]; ok && name == corev1.ResourceMemory {
		d.bound = limit.AsApproximateFloat64()
	}
	if load, ok := loadOf(pod, c, name); ok {
		d.load = load
		return d, true
	}
	if name == corev1.ResourceMemory {
		amount := byDefault(c, name)
		d.load = Load{terms: []term{{func(time.Time, time.Time) float64 { return amount }, amount}}, constant: true}
	} else {
		d.load.constant = true
	}
	return d, false
}

// DeclaresDemand reports whether an annotation of the pod states a demand for memory, ephemeral
// storage or PIDs.
func DeclaresDemand(pod *corev1.Pod) bool {
	for key := range pod.Annotations {
		if !strings.HasPrefix(key, annotationPrefix) {
			continue
		}
		for _, of := range []string{AnnotationMemory, AnnotationEphemeralStorage, AnnotationPIDs} {
			if rest, ok := strings.CutPrefix(key, of); ok && (rest == "" || rest[0] == '.') {
				return true
			}
		}
	}
	return false
}

const annotationPrefix = "minikcm.dev/"

// At returns the amount at a time.
func (d *Demand) At(at time.Time) float64 { return d.bounded(d.load.at(at, d.since)) }

// Most returns an amount that the demand never exceeds.
func (d *Demand) Most() float64 { return d.bounded(d.load.most()) }

func (d *Demand) bounded(value float64) float64 {
	if value = max(value, 0); d.bound > 0 {
		return min(value, d.bound)
	}
	return value
}
