// Package simulatedmetrics answers the metrics APIs for simulated pods. It connects the
// interface of the API server (apiserver/internal/metricsapi) with the model of what pods use
// (internal/usage), which do not know each other: every answer is computed from the
// objects of the API at the cluster's time, also while no kubelet runs.
package simulatedmetrics
