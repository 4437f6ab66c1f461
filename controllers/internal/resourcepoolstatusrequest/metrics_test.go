package resourcepoolstatusrequest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"minikcm.dev/minikcm/controllers/internal/env"
)

// TestMetricsOfManyDrivers counts drivers beyond maxDrivers together.
func TestMetricsOfManyDrivers(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := newMetrics(&env.Env{Registry: registry})
	for i := range maxDrivers + 5 {
		m.answered(fmt.Sprint("d", i), time.Second, nil)
	}
	m.answered("d0", time.Second, errors.New("refused"))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, series := range f.Metric {
			if driver := series.Label[0].GetValue(); driver == "" || driver == "d0" {
				got[f.GetName()+" "+driver] = series.GetCounter().GetValue() + float64(series.GetHistogram().GetSampleCount())
			}
		}
	}
	const prefix = "resourcepoolstatusrequest_controller_"
	for name, want := range map[string]float64{
		"requests_processed_total ": 5, "requests_processed_total d0": 2, "request_processing_errors_total d0": 1,
		"request_processing_duration_seconds ": 5, "request_processing_duration_seconds d0": 2,
	} {
		if got[prefix+name] != want {
			t.Errorf("%s: %v, want %v", name, got[prefix+name], want)
		}
	}
}
