package decide

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/utils/ptr"
)

// stabilized returns the largest recommendation within the window, which an autoscaler
// without behavior does not go below.
func (h History) stabilized(desired int32, now time.Time, window time.Duration) int32 {
	for _, s := range h.Recommendations {
		if !s.At.Before(now.Add(-window)) {
			desired = max(desired, s.Replicas)
		}
	}
	return desired
}

// windows are an autoscaler's stabilization windows.
type windows struct{ up, down time.Duration }

func windowsOf(behavior *autoscalingv2.HorizontalPodAutoscalerBehavior, downDefault time.Duration) windows {
	w := windows{down: downDefault}
	if behavior.ScaleUp != nil {
		w.up = time.Duration(ptr.Deref(behavior.ScaleUp.StabilizationWindowSeconds, 0)) * time.Second
	}
	if behavior.ScaleDown != nil && behavior.ScaleDown.StabilizationWindowSeconds != nil {
		w.down = time.Duration(*behavior.ScaleDown.StabilizationWindowSeconds) * time.Second
	}
	return w
}

// stabilizedBy limits the change by the recommendations within the windows: an increase by
// the smallest, a decrease by the largest.
func (h History) stabilizedBy(w windows, current, desired int32, now time.Time) int32 {
	up, down := desired, desired
	for _, s := range h.Recommendations {
		if s.At.After(now.Add(-w.up)) {
			up = min(up, s.Replicas)
		}
		if s.At.After(now.Add(-w.down)) {
			down = max(down, s.Replicas)
		}
	}
	return min(max(current, up), down)
}
