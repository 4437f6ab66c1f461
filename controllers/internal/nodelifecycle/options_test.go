package nodelifecycle

import (
	"testing"

	"minikcm.dev/minikcm/controllers/internal/controller"
)

// TestOptions checks that no evictions are an option, and that periods have defaults.
func TestOptions(t *testing.T) {
	t.Parallel()
	s := &controller.Settings{}
	if o := options(s); o.Zones.EvictionRate != -1 || o.Zones.SecondaryEvictionRate != -1 || o.MonitorGracePeriod != monitorGracePeriod || o.MonitorPeriod != monitorPeriod {
		t.Errorf("without settings: %+v", o)
	}
	defaults(s)
	if o := options(s); o.Zones.EvictionRate != 0.1 || o.StartupGracePeriod != startupGracePeriod {
		t.Errorf("with the defaults: %+v", o)
	}
}
