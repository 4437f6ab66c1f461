package usage

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// oomHorizon is how far ahead of its start it is known that a container's memory
	// passes its limit.
	oomHorizon = 24 * time.Hour
	// oomFirst is how long a container lives at least that is too large from the start.
	oomFirst = time.Second
	// ReasonOOMKilled is why it ends then.
	ReasonOOMKilled = "OOMKilled"
)

// OutOfMemoryAt is when the memory that the container's own annotation tells passes its
// limit, if it was started at since; zero: not within the horizon. Loads that pods
// share do not count: that would depend on the other pods.
func OutOfMemoryAt(pod *corev1.Pod, c *corev1.Container, since time.Time) time.Time {
	limit, limited := c.Resources.Limits[corev1.ResourceMemory]
	if !limited || limit.IsZero() {
		return time.Time{}
	}
	load, told := loadOf(pod, c, corev1.ResourceMemory)
	if !told {
		return time.Time{}
	}
	bound := limit.AsApproximateFloat64()
	for after := oomFirst; after < oomHorizon; after += Window {
		if at := since.Add(after); load.at(at, since) > bound {
			return at
		}
		if load.constant {
			break
		}
	}
	return time.Time{}
}
