package featuregates

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"minikcm.dev/minikcm/internal/releases"
)

func TestCollector(t *testing.T) {
	gates, err := New(releases.Newest, map[string]bool{"HPAScaleToZero": false})
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(gates.Collector())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range families[0].Metric {
		got[m.Label[0].GetValue()] = fmt.Sprint(m.Label[1].GetValue(), m.Gauge.GetValue())
	}
	if len(got) != len(releases.Newest.Gates()) {
		t.Errorf("%d of %d gates", len(got), len(releases.Newest.Gates()))
	}
	for name, want := range map[string]string{
		"HPAScaleToZero": "BETA0", "APIResponseCompression": "BETA1", "PodLogsQuerySplitStreams": "ALPHA0", "DynamicResourceAllocation": "1",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}
