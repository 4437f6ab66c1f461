package usage

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// oomHorizon bounds how long after a container's start its memory is predicted.
	oomHorizon = 24 * time.Hour
	// oomFirst is the shortest life of a container whose memory exceeds its limit from the
	// start.
	oomFirst = time.Second
	// ReasonOOMKilled is the termination reason of a container that exceeded its memory limit.
	ReasonOOMKilled = "OOMKilled"
)

// OutOfMemoryAt returns when the memory of the container's own annotation exceeds its limit,
// for a start at since; zero if not within a day. Shared loads do not count, since they depend
// on other pods.
func OutOfMemoryAt(pod *corev1.Pod, c *corev1.Container, since time.Time) time.Time {
	limit, limited := c.Resources.Limits[corev1.ResourceMemory]
	if !limited || limit.IsZero() {
		return time.Time{}
	}
	load, declared := loadOf(pod, c, corev1.ResourceMemory)
	if !declared {
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
