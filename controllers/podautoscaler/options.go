package podautoscaler

import "time"

// Options are the controller's settings, by the flags of kube-controller-manager that
// have them. A field that is 0 has upstream's default.
type Options struct {
	// SyncPeriod is how often each autoscaler is looked at
	// (--horizontal-pod-autoscaler-sync-period, 15 s).
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

func (o *Options) complete() {
	defaults := DefaultOptions()
	if o.SyncPeriod <= 0 {
		o.SyncPeriod = defaults.SyncPeriod
	}
	if o.DownscaleStabilization <= 0 {
		o.DownscaleStabilization = defaults.DownscaleStabilization
	}
	if o.Tolerance <= 0 {
		o.Tolerance = defaults.Tolerance
	}
	if o.CPUInitializationPeriod <= 0 {
		o.CPUInitializationPeriod = defaults.CPUInitializationPeriod
	}
	if o.InitialReadinessDelay <= 0 {
		o.InitialReadinessDelay = defaults.InitialReadinessDelay
	}
	if o.Workers <= 0 {
		o.Workers = defaults.Workers
	}
}
