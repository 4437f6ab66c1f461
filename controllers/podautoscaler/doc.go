// Package podautoscaler keeps the size of what HorizontalPodAutoscalers point at
// (autoscaling/v2; upstream's horizontal-pod-autoscaler-controller): every sync period
// it reads the target's scale subresource, whatever its kind, and the metrics that the
// autoscaler names, works out the size that each of them asks for, takes the largest,
// and holds it within the autoscaler's bounds, its stabilization windows and its
// policies. Every size that it writes lies within the bounds; what it decided before is
// kept in memory, as upstream keeps it, and forgotten with the process.
package podautoscaler
