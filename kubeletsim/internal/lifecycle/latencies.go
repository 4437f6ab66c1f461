package lifecycle

import (
	"time"
)

// Latencies are the durations of a simulated machine's operations, on the cluster's clock. Zero
// means that the operation is immediate, except for JobRun.
type Latencies struct {
	// PodStart is the time from a pod's admission until its sandbox is ready and its first
	// containers run.
	PodStart time.Duration
	// ContainerReady is the time from a container's start until its readiness probe first
	// succeeds. AnnotationReadyDelay overrides it.
	ContainerReady time.Duration
	// ContainerRestart is the time from a container's end to its restart while no back-off
	// applies.
	ContainerRestart time.Duration
	// ContainerStop is the time from the termination signal to the container's end. The grace
	// period bounds it.
	ContainerStop time.Duration
	// ServiceSync is the least time between two syncs of a node's rules of Services, as kube-proxy's minSyncPeriod: changes
	// within it wait. 0: they are known at once.
	ServiceSync time.Duration
	// InitRun is the duration of an init container's run if nothing else determines it.
	InitRun time.Duration
	// JobRun is the duration of a container's run in a pod that a Job controls, and of a run
	// with an annotated exit code but no duration. Default 1s.
	JobRun time.Duration
}
