package resourcepoolstatusrequest

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"minikcm.dev/minikcm/controllers/internal/env"
)

// maxDrivers limits the drivers that have series of their own: users choose the names in requests.
const maxDrivers = 1000

// metrics are upstream's, by the driver that requests name. They belong to the controller's only worker.
type metrics struct {
	processed, failed *prometheus.CounterVec
	durations         *prometheus.HistogramVec
	drivers           map[string]bool
}

func newMetrics(e *env.Env) *metrics {
	const prefix = "resourcepoolstatusrequest_controller_"
	labels := []string{"driver_name"}
	return &metrics{
		processed: env.Register(e, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "requests_processed_total",
			Help: "ResourcePoolStatusRequests whose answers were written, or failed to be.",
		}, labels)),
		failed: env.Register(e, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "request_processing_errors_total",
			Help: "Answers to ResourcePoolStatusRequests that failed to be written.",
		}, labels)),
		durations: env.Register(e, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    prefix + "request_processing_duration_seconds",
			Help:    "How long it took to answer a ResourcePoolStatusRequest, in seconds of the cluster's clock.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
		}, labels)),
		drivers: map[string]bool{},
	}
}

// answered counts an answer, after maxDrivers drivers without the name of another one. err is why it was not written; nil: it was.
func (m *metrics) answered(driver string, took time.Duration, err error) {
	if !m.drivers[driver] && len(m.drivers) == maxDrivers {
		driver = ""
	} else {
		m.drivers[driver] = true
	}
	m.processed.WithLabelValues(driver).Inc()
	if err != nil {
		m.failed.WithLabelValues(driver).Inc()
	}
	m.durations.WithLabelValues(driver).Observe(took.Seconds())
}
