package featuregates

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"minikcm.dev/minikcm/internal/releases"
)

// enabled is upstream's metric of each gate.
var enabled = prometheus.NewDesc("kubernetes_feature_enabled", "[BETA] This metric records the data about the stage and enablement of a k8s feature.", []string{"name", "stage"}, nil)

// Collector returns the gates as upstream's metric kubernetes_feature_enabled.
func (g Gates) Collector() prometheus.Collector { return collector{g} }

type collector struct{ gates Gates }

func (collector) Describe(descs chan<- *prometheus.Desc) { descs <- enabled }

func (c collector) Collect(metrics chan<- prometheus.Metric) {
	release := c.gates.Release()
	for _, name := range release.Gates() {
		gate, _ := release.Gate(name)
		stage, value := strings.ToUpper(gate.Stage), 0.0
		if gate.Stage == releases.GA {
			stage = ""
		}
		if c.gates.Enabled(name) {
			value = 1
		}
		metrics <- prometheus.MustNewConstMetric(enabled, prometheus.GaugeValue, value, name, stage)
	}
}
