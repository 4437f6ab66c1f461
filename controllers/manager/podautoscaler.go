package manager

import (
	"time"

	"github.com/spf13/pflag"

	"minikcm.dev/minikcm/controllers/podautoscaler"
)

// podAutoscalerDefaults sets upstream's defaults.
func podAutoscalerDefaults(s *Settings) {
	c, defaults := &s.HPAController, podautoscaler.DefaultOptions()
	c.HorizontalPodAutoscalerSyncPeriod.Duration = defaults.SyncPeriod
	c.HorizontalPodAutoscalerDownscaleStabilizationWindow.Duration = defaults.DownscaleStabilization
	c.HorizontalPodAutoscalerTolerance = defaults.Tolerance
	c.HorizontalPodAutoscalerCPUInitializationPeriod.Duration = defaults.CPUInitializationPeriod
	c.HorizontalPodAutoscalerInitialReadinessDelay.Duration = defaults.InitialReadinessDelay
}

func podAutoscalerFlags(fs *pflag.FlagSet, s *Settings) {
	c := &s.HPAController
	duration := func(value *time.Duration, name, usage string) { fs.DurationVar(value, name, *value, usage) }
	duration(&c.HorizontalPodAutoscalerSyncPeriod.Duration, "horizontal-pod-autoscaler-sync-period", "how often each autoscaler is looked at")
	duration(&c.HorizontalPodAutoscalerDownscaleStabilizationWindow.Duration, "horizontal-pod-autoscaler-downscale-stabilization",
		"for how long a size that was asked for is not gone below, where an autoscaler does not say")
	duration(&c.HorizontalPodAutoscalerCPUInitializationPeriod.Duration, "horizontal-pod-autoscaler-cpu-initialization-period",
		"for how long after a pod's start its CPU use may be left out")
	duration(&c.HorizontalPodAutoscalerInitialReadinessDelay.Duration, "horizontal-pod-autoscaler-initial-readiness-delay",
		"for how long after a pod's start a change of its readiness is its first")
	fs.Float64Var(&c.HorizontalPodAutoscalerTolerance, "horizontal-pod-autoscaler-tolerance", c.HorizontalPodAutoscalerTolerance,
		"how far from 1 the ratio of a metric to its target must be to do anything, where an autoscaler does not say")
}

func podAutoscalerOptions(s *Settings) podautoscaler.Options {
	c := &s.HPAController
	return podautoscaler.Options{
		SyncPeriod:              c.HorizontalPodAutoscalerSyncPeriod.Duration,
		DownscaleStabilization:  noneIfZero(c.HorizontalPodAutoscalerDownscaleStabilizationWindow.Duration),
		Tolerance:               noneIfZero(c.HorizontalPodAutoscalerTolerance),
		CPUInitializationPeriod: noneIfZero(c.HorizontalPodAutoscalerCPUInitializationPeriod.Duration),
		InitialReadinessDelay:   noneIfZero(c.HorizontalPodAutoscalerInitialReadinessDelay.Duration),
		Workers:                 int(c.ConcurrentHorizontalPodAutoscalerSyncs),
	}
}
