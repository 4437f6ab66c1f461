package metrics

import (
	"crypto/sha256"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"minikcm.dev/minikcm/clock"
)

// Reloads are the metrics of one configuration file that is followed.
type Reloads struct {
	clock clock.Clock
	// server is the hash of the server's identity.
	server string
	total  *prometheus.CounterVec
	last   *prometheus.GaugeVec
	info   *prometheus.GaugeVec
}

// NewReloads registers the metrics of a configuration, such as "authorization", with
// upstream's names. identity names the server.
func (m *Metrics) NewReloads(configuration, identity string, clock clock.Clock) *Reloads {
	subsystem := configuration + "_config_controller"
	labels := []string{"status", "apiserver_id_hash"}
	r := &Reloads{
		clock: clock, server: hashOf([]byte(identity)),
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "apiserver", Subsystem: subsystem, Name: "automatic_reloads_total",
			Help: "Automatic reloads of the " + configuration + " configuration by status and API server.",
		}, labels),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "apiserver", Subsystem: subsystem, Name: "automatic_reload_last_timestamp_seconds",
			Help: "Time of the last automatic reload of the " + configuration + " configuration by status and API server, on the cluster's clock.",
		}, labels),
		info: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "apiserver", Subsystem: subsystem, Name: "last_config_info",
			Help: "Hash of the " + configuration + " configuration in effect by API server.",
		}, []string{"apiserver_id_hash", "hash"}),
	}
	m.registry.MustRegister(r.total, r.last, r.info)
	return r
}

// Loaded records the first content.
func (r *Reloads) Loaded(content []byte) {
	r.info.Reset()
	r.info.WithLabelValues(r.server, hashOf(content)).Set(1)
}

// Succeeded records that content was put into effect.
func (r *Reloads) Succeeded(content []byte) {
	r.record("success")
	r.Loaded(content)
}

// Failed records content that could not be put into effect.
func (r *Reloads) Failed() { r.record("failure") }

func (r *Reloads) record(status string) {
	r.total.WithLabelValues(status, r.server).Inc()
	r.last.WithLabelValues(status, r.server).Set(float64(r.clock.Now().UnixNano()) / 1e9)
}

func hashOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }
