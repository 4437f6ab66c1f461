package nodelifecycle

import (
	"time"

	"github.com/spf13/pflag"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/nodelifecycle/decide"
)

// Upstream's defaults.
const (
	monitorGracePeriod = 50 * time.Second
	startupGracePeriod = 60 * time.Second
	monitorPeriod      = 5 * time.Second
)

// Options configure the controller.
type Options struct {
	// MonitorGracePeriod is the time without a heartbeat after which a node is Unknown.
	MonitorGracePeriod time.Duration
	// StartupGracePeriod is the same for a node that has not posted a status yet.
	StartupGracePeriod time.Duration
	// MonitorPeriod is the interval between passes over the nodes.
	MonitorPeriod time.Duration
	// Zones configure the rate of evictions.
	Zones decide.ZoneOptions
}

func defaults(s *controller.Settings) {
	c := &s.NodeLifecycleController
	c.NodeMonitorGracePeriod.Duration, c.NodeStartupGracePeriod.Duration, c.NodeMonitorPeriod.Duration = monitorGracePeriod, startupGracePeriod, monitorPeriod
	c.NodeEvictionRate, c.SecondaryNodeEvictionRate = 0.1, 0.01
	c.LargeClusterSizeThreshold, c.UnhealthyZoneThreshold = 50, 0.55
}

func flags(fs *pflag.FlagSet, s *controller.Settings) {
	c := &s.NodeLifecycleController
	fs.DurationVar(&c.NodeMonitorGracePeriod.Duration, "node-monitor-grace-period", c.NodeMonitorGracePeriod.Duration, "time without a heartbeat after which a node is unhealthy")
	fs.DurationVar(&c.NodeStartupGracePeriod.Duration, "node-startup-grace-period", c.NodeStartupGracePeriod.Duration, "time that a new node has to post its first status")
	fs.DurationVar(&c.NodeMonitorPeriod.Duration, "node-monitor-period", c.NodeMonitorPeriod.Duration, "interval between passes over the nodes")
	fs.Float32Var(&c.NodeEvictionRate, "node-eviction-rate", c.NodeEvictionRate, "nodes per second whose pods are evicted when nodes fail in a healthy zone")
	fs.Float32Var(&c.SecondaryNodeEvictionRate, "secondary-node-eviction-rate", c.SecondaryNodeEvictionRate, "the same in a large zone that is unhealthy; in a small one, none")
	fs.Int32Var(&c.LargeClusterSizeThreshold, "large-cluster-size-threshold", c.LargeClusterSizeThreshold, "the number of nodes above which a zone is large")
	fs.Float32Var(&c.UnhealthyZoneThreshold, "unhealthy-zone-threshold", c.UnhealthyZoneThreshold, "fraction of a zone's nodes, at least 3, that must not be ready for the zone to be unhealthy")
}

// options returns the options of the settings. A duration that is not positive means the default.
func options(s *controller.Settings) Options {
	c := &s.NodeLifecycleController
	or := func(d, standard time.Duration) time.Duration {
		if d > 0 {
			return d
		}
		return standard
	}
	return Options{
		MonitorGracePeriod: or(c.NodeMonitorGracePeriod.Duration, monitorGracePeriod),
		StartupGracePeriod: or(c.NodeStartupGracePeriod.Duration, startupGracePeriod),
		MonitorPeriod:      or(c.NodeMonitorPeriod.Duration, monitorPeriod),
		Zones: decide.ZoneOptions{
			EvictionRate: controller.NoneIfZero(c.NodeEvictionRate), SecondaryEvictionRate: controller.NoneIfZero(c.SecondaryNodeEvictionRate),
			LargeThreshold: int(c.LargeClusterSizeThreshold), UnhealthyThreshold: c.UnhealthyZoneThreshold,
		},
	}
}
