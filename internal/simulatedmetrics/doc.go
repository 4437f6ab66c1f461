// Package simulatedmetrics answers the metrics APIs for simulated pods. It connects the interface
// of the API server (apiserver/internal/metricsapi) with the model of the pods' usage
// (internal/usage), which do not know each other: every response is computed from the objects of
// the API at the cluster's time, even while no kubelet runs.
package simulatedmetrics
