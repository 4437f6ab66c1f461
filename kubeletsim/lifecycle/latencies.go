package lifecycle

import (
	"time"
)

// Latencies are how long the simulated machine takes, on the cluster's clock.
// Zero means no time at all, except for JobRun.
type Latencies struct {
	// PodStart is from a pod's admission until its sandbox is up and its first
	// containers run.
	PodStart time.Duration
	// ContainerReady is from a container's start until its readiness probe first
	// succeeds, unless AnnotationReadyDelay says otherwise.
	ContainerReady time.Duration
	// ContainerRestart is from a container's end until it is started again, unless
	// it is in back-off.
	ContainerRestart time.Duration
	// ContainerStop is from the signal to stop until the container has ended, but
	// never longer than the grace period.
	ContainerStop time.Duration
	// InitRun is how long an init container runs of which nothing is known.
	InitRun time.Duration
	// JobRun is how long a container runs that has no reason to run forever: those of
	// pods that a Job controls, and those that have an exit code but no duration.
	// Default 1s.
	JobRun time.Duration
}
