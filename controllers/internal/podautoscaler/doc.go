// Package podautoscaler is the horizontal-pod-autoscaler-controller (autoscaling/v2). For a new
// autoscaler, after a change of its spec, and then every sync period, it reads the scale subresource
// of the autoscaler's target, whatever its kind, and the autoscaler's metrics, calculates the size
// that each metric requires, takes the largest, and limits it by the autoscaler's bounds,
// stabilization windows and policies. The pure package decide calculates all of that. Every size
// that the controller writes lies within the bounds. It keeps earlier decisions in memory only, as
// upstream does.
package podautoscaler
