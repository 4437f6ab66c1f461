package podautoscaler

import "time"

// Options are the controller's settings, by the flags of kube-controller-manager that
// have them. A field that is 0 has upstream's default, and one below 0 is 0.
type Options struct {
	// SyncPeriod is how often each autoscaler is looked at
	// (--horizontal-pod-autoscaler-sync-period, 15 s). It cannot be 0.
	SyncPeriod time.Duration
	// DownscaleStabilization is for how long a size that was asked for is not gone
	// below, where an autoscaler says nothing about it
	// (--horizontal-pod-autoscaler-downscale-stabilization, 5 m).
	DownscaleStabilization time.Duration
	// Tolerance is how far from 1 the ratio of what is and what is aimed at must be to
	// do anything, where an autoscaler says nothing about it
	// (--horizontal-pod-autoscaler-tolerance, 0.1).
	Tolerance float64
	// CPUInitializationPeriod is for how long after a pod's start its CPU metrics count
	// only if they are all from when it was ready
	// (--horizontal-pod-autoscaler-cpu-initialization-period, 5 m).
	CPUInitializationPeriod time.Duration
	// InitialReadinessDelay is for how long after a pod's start a change to unready is
	// taken for its first (--horizontal-pod-autoscaler-initial-readiness-delay, 30 s).
	InitialReadinessDelay time.Duration
	// Workers is how many autoscalers are looked at at once
	// (--concurrent-horizontal-pod-autoscaler-syncs, 5).
	Workers int
}

// DefaultOptions are upstream's.
func DefaultOptions() Options {
	return Options{
		SyncPeriod: 15 * time.Second, DownscaleStabilization: 5 * time.Minute, Tolerance: 0.1,
		CPUInitializationPeriod: 5 * time.Minute, InitialReadinessDelay: 30 * time.Second, Workers: 5,
	}
}

// completed are the options with defaults for what was left out.
func (o Options) completed() Options {
	defaults := DefaultOptions()
	if o.SyncPeriod <= 0 {
		o.SyncPeriod = defaults.SyncPeriod
	}
	if o.Workers <= 0 {
		o.Workers = defaults.Workers
	}
	o.DownscaleStabilization = complete(o.DownscaleStabilization, defaults.DownscaleStabilization)
	o.Tolerance = complete(o.Tolerance, defaults.Tolerance)
	o.CPUInitializationPeriod = complete(o.CPUInitializationPeriod, defaults.CPUInitializationPeriod)
	o.InitialReadinessDelay = complete(o.InitialReadinessDelay, defaults.InitialReadinessDelay)
	return o
}

func complete[N time.Duration | float64](value, fallback N) N {
	if value == 0 {
		return fallback
	}
	return max(value, 0)
}
