package podautoscaler

import (
	"time"

	"github.com/spf13/pflag"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/podautoscaler/decide"
)

// defaults sets upstream's defaults.
func defaults(s *controller.Settings) {
	c, defaults := &s.HPAController, decide.DefaultOptions()
	c.HorizontalPodAutoscalerSyncPeriod.Duration = defaults.SyncPeriod
	c.HorizontalPodAutoscalerDownscaleStabilizationWindow.Duration = defaults.DownscaleStabilization
	c.HorizontalPodAutoscalerTolerance = defaults.Tolerance
	c.HorizontalPodAutoscalerCPUInitializationPeriod.Duration = defaults.CPUInitializationPeriod
	c.HorizontalPodAutoscalerInitialReadinessDelay.Duration = defaults.InitialReadinessDelay
}

func flags(fs *pflag.FlagSet, s *controller.Settings) {
	c := &s.HPAController
	duration := func(value *time.Duration, name, usage string) { fs.DurationVar(value, name, *value, usage) }
	duration(&c.HorizontalPodAutoscalerSyncPeriod.Duration, "horizontal-pod-autoscaler-sync-period", "interval at which each autoscaler is reconciled")
	duration(&c.HorizontalPodAutoscalerDownscaleStabilizationWindow.Duration, "horizontal-pod-autoscaler-downscale-stabilization",
		"window whose largest recommendation is the least size, unless an autoscaler sets its own")
	duration(&c.HorizontalPodAutoscalerCPUInitializationPeriod.Duration, "horizontal-pod-autoscaler-cpu-initialization-period",
		"time after a pod's start in which its CPU metrics count only if the pod was ready for the whole sample")
	duration(&c.HorizontalPodAutoscalerInitialReadinessDelay.Duration, "horizontal-pod-autoscaler-initial-readiness-delay",
		"time after a pod's start in which a change to unready counts as its first")
	fs.Float64Var(&c.HorizontalPodAutoscalerTolerance, "horizontal-pod-autoscaler-tolerance", c.HorizontalPodAutoscalerTolerance,
		"deviation from 1 of the ratio of a metric to its target below which nothing changes, unless an autoscaler sets its own")
}

func options(s *controller.Settings) decide.Options {
	c := &s.HPAController
	return decide.Options{
		SyncPeriod:              c.HorizontalPodAutoscalerSyncPeriod.Duration,
		DownscaleStabilization:  controller.NoneIfZero(c.HorizontalPodAutoscalerDownscaleStabilizationWindow.Duration),
		Tolerance:               controller.NoneIfZero(c.HorizontalPodAutoscalerTolerance),
		CPUInitializationPeriod: controller.NoneIfZero(c.HorizontalPodAutoscalerCPUInitializationPeriod.Duration),
		InitialReadinessDelay:   controller.NoneIfZero(c.HorizontalPodAutoscalerInitialReadinessDelay.Duration),
	}
}
