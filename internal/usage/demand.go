package usage

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
)

// ResourcePIDs is the number of processes, by the name that upstream's kubelet gives it.
const ResourcePIDs corev1.ResourceName = "pids"

// Demand is a running container's usage of memory, ephemeral storage or PIDs over time, without
// shared loads and noise. The zero value uses nothing.
type Demand struct {
	load  Load
	since time.Time
	// bound is the most that the container can use; 0: there is none. A container with more
	// memory than its limit is killed.
	bound float64
}

// DemandOf returns the demand of a container that has run since the given time. declared reports
// whether an annotation or a rule states it. Otherwise, the container uses the memory of a container
// without a load, and nothing else.
func (u Model) DemandOf(pod *corev1.Pod, c *corev1.Container, name corev1.ResourceName, since time.Time) (d Demand, declared bool) {
	d.since = since
	if limit, ok := c.Resources.Limits[name]; ok && name == corev1.ResourceMemory {
		d.bound = limit.AsApproximateFloat64()
	}
	if load, ok := loadOf(pod, c, name); ok {
		d.load = load
		return d, true
	}
	if rule := u.rule(pod, c, name); rule != nil {
		if load, ok := loadOfRule(rule, u.target(pod, c), since); ok {
			d.load = load
			return d, true
		}
	}
	if name == corev1.ResourceMemory {
		d.load = constantLoad(byDefault(c, name))
	} else {
		d.load.constant = true
	}
	return d, false
}

// demands are the resources of which nodes run short.
func demands() []corev1.ResourceName {
	return []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage, ResourcePIDs}
}

// DeclaresDemand reports whether an annotation of the pod or a rule states a demand for memory,
// ephemeral storage or PIDs.
func (u Model) DeclaresDemand(pod *corev1.Pod) bool {
	if u.Rules != nil {
		for _, ref := range podspec.Containers(pod) {
			for _, name := range demands() {
				if u.Rules.Rule(pod, ref.Name, name) != nil {
					return true
				}
			}
		}
	}

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

// RuledDemand returns the amounts of the rules for a pod's demands at a time, for comparison with
// another time; nil if there are no rules. A rule that varies is left out.
func (u Model) RuledDemand(pod *corev1.Pod, at time.Time) []float64 {
	if u.Rules == nil {
		return nil
	}
	var all []float64
	for _, ref := range podspec.Containers(pod) {
		for _, name := range demands() {
			if rule := u.Rules.Rule(pod, ref.Name, name); rule != nil && !rule.Varies() {
				value, _ := rule.Amount(u.target(pod, ref.Container), at)
				all = append(all, value)
			}
		}
	}
	return all
}

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
