package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// health counts the results of health checks, with upstream's metric names (KEP-3466).
// They are per server; a process may have several.
type health struct {
	registry *prometheus.Registry
	latest   *prometheus.GaugeVec
	total    *prometheus.CounterVec
}

func newHealth() *health {
	m := &health{
		registry: prometheus.NewRegistry(),
		latest: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kubernetes_healthcheck", Help: "[STABLE] This metric records the result of a single healthcheck.",
		}, []string{"name", "type"}),
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kubernetes_healthchecks_total", Help: "[STABLE] This metric records the results of all healthcheck.",
		}, []string{"name", "type", "status"}),
	}
	m.registry.MustRegister(m.latest, m.total)
	return m
}

// HealthHandler serves GET /metrics/slis.
func (m *Metrics) HealthHandler() http.Handler {
	return promhttp.HandlerFor(m.health.registry, promhttp.HandlerOpts{})
}

// ObserveCheck records the result of a health check of an endpoint (healthz, livez or readyz).
func (m *Metrics) ObserveCheck(check, endpoint string, err error) {
	status, value := "success", 1.0
	if err != nil {
		status, value = "error", 0
	}
	m.health.latest.WithLabelValues(check, endpoint).Set(value)
	m.health.total.WithLabelValues(check, endpoint, status).Inc()
}
