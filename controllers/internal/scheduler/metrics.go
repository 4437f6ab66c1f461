package scheduler

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	resourcev1 "k8s.io/api/resource/v1"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
)

// metrics are kube-scheduler's metrics about devices. The cluster's clock measures the waits.
type metrics struct {
	creates env.ClaimCreates
	// bound counts the allocated devices with binding conditions, by how the wait for them has ended, and waits has
	// the duration for each device of the pod.
	bound *prometheus.CounterVec
	waits *prometheus.HistogramVec
}

func newMetrics(e *env.Env) metrics {
	labels := []string{"profile", "driver", "status"}
	return metrics{
		creates: env.NewClaimCreates(e),
		bound: env.Register(e, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "scheduler_dra_bindingconditions_allocations_total",
			Help: "Allocated devices with binding conditions, by driver and by how the attempt to bind them has ended.",
		}, labels)),
		waits: env.Register(e, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "scheduler_dra_bindingconditions_wait_duration_seconds",
			Help:    "How long pods waited for binding conditions of their devices, in seconds of the cluster's clock.",
			Buckets: prometheus.ExponentialBuckets(0.1, 2, 14),
		}, labels)),
	}
}

// waited counts the end of a wait for the devices of claims.
func (m metrics) waited(profile string, claims []*resourcev1.ResourceClaim, seconds float64, err error) {
	status := "success"
	switch {
	case errors.Is(err, plugins.ErrDeviceTimeout):
		status = "timeout"
	case errors.Is(err, plugins.ErrDeviceFailed):
		status = "failure"
	case err != nil:
		status = "error"
	}
	for _, claim := range claims {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, r := range claim.Status.Allocation.Devices.Results {
			m.waits.WithLabelValues(profile, r.Driver, status).Observe(seconds)
			if len(r.BindingConditions) > 0 {
				m.bound.WithLabelValues(profile, r.Driver, status).Inc()
			}
		}
	}
}
