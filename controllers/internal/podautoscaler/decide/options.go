package decide

import "time"

// Options are the settings of decisions, with the flags of kube-controller-manager that set
// them. A field that is 0 means upstream's default, and a negative one means 0.
type Options struct {
	// SyncPeriod is the interval at which each autoscaler is reconciled
	// (--horizontal-pod-autoscaler-sync-period, 15 s). It cannot be 0.
	SyncPeriod time.Duration
	// DownscaleStabilization is the window whose largest recommendation is the least size,
	// unless an autoscaler sets its own
	// (--horizontal-pod-autoscaler-downscale-stabilization, 5 m).
	DownscaleStabilization time.Duration
	// Tolerance is the deviation from 1 of the ratio of a metric to its target below which
	// nothing changes, unless an autoscaler sets its own
	// (--horizontal-pod-autoscaler-tolerance, 0.1).
	Tolerance float64
	// CPUInitializationPeriod is the time after a pod's start in which its CPU metrics
	// count only if the pod was ready for the whole sample
	// (--horizontal-pod-autoscaler-cpu-initialization-period, 5 m).
	CPUInitializationPeriod time.Duration
	// InitialReadinessDelay is the time after a pod's start in which a change to unready
	// counts as its first (--horizontal-pod-autoscaler-initial-readiness-delay, 30 s).
	InitialReadinessDelay time.Duration
}

// DefaultOptions returns upstream's defaults.
func DefaultOptions() Options {
	return Options{
		SyncPeriod: 15 * time.Second, DownscaleStabilization: 5 * time.Minute, Tolerance: 0.1,
		CPUInitializationPeriod: 5 * time.Minute, InitialReadinessDelay: 30 * time.Second,
	}
}

// Completed returns the options with defaults for unset fields.
func (o Options) Completed() Options {
	defaults := DefaultOptions()
	if o.SyncPeriod <= 0 {
		o.SyncPeriod = defaults.SyncPeriod
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
