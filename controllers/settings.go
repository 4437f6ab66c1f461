package controllers

import (
	"time"

	"github.com/spf13/pflag"

	"minikcm.dev/minikcm/controllers/internal/certificates/signing"
	"minikcm.dev/minikcm/controllers/internal/legacyserviceaccounttokencleaner"
	"minikcm.dev/minikcm/controllers/internal/nodeipam"
	"minikcm.dev/minikcm/controllers/internal/nodelifecycle"
	"minikcm.dev/minikcm/controllers/internal/nodelifecycle/decide"
	"minikcm.dev/minikcm/controllers/internal/persistentvolumeattachdetach"
	"minikcm.dev/minikcm/controllers/internal/podgc"
)

// Defaults returns settings in which every field that has a flag here is upstream's
// default.
func Defaults() *Settings {
	s := &Settings{}
	for _, d := range Descriptors() {
		d.SetDefaults(s)
	}
	node := &s.NodeLifecycleController
	node.NodeMonitorGracePeriod.Duration = 50 * time.Second
	node.NodeStartupGracePeriod.Duration = 60 * time.Second
	node.NodeMonitorPeriod.Duration = 5 * time.Second
	node.NodeEvictionRate, node.SecondaryNodeEvictionRate = 0.1, 0.01
	node.LargeClusterSizeThreshold, node.UnhealthyZoneThreshold = 50, 0.55
	s.AttachDetachController.ReconcilerSyncLoopPeriod.Duration = time.Minute
	podAutoscalerDefaults(s)
	s.CSRSigningController.ClusterSigningDuration.Duration = signing.DefaultLifetime
	s.KubeCloudShared.CIDRAllocatorType = nodeipam.RangeAllocator
	cloudDefaults(s)
	s.PodGCController.TerminatedPodGCThreshold = 12500
	s.LegacySATokenCleaner.CleanUpPeriod.Duration = legacyserviceaccounttokencleaner.DefaultCleanUpPeriod
	return s
}

// The functions below translate between the settings and the packages' options, in which 0
// means the default and a negative value means none.

func nodeLifecycleFlags(fs *pflag.FlagSet, s *Settings) {
	c := &s.NodeLifecycleController
	fs.DurationVar(&c.NodeMonitorGracePeriod.Duration, "node-monitor-grace-period", c.NodeMonitorGracePeriod.Duration, "time without a heartbeat after which a node is unhealthy")
	fs.DurationVar(&c.NodeStartupGracePeriod.Duration, "node-startup-grace-period", c.NodeStartupGracePeriod.Duration, "time that a new node has to post its first status")
	fs.DurationVar(&c.NodeMonitorPeriod.Duration, "node-monitor-period", c.NodeMonitorPeriod.Duration, "interval between passes over the nodes")
	fs.Float32Var(&c.NodeEvictionRate, "node-eviction-rate", c.NodeEvictionRate, "nodes per second whose pods are evicted when nodes fail in a healthy zone")
	fs.Float32Var(&c.SecondaryNodeEvictionRate, "secondary-node-eviction-rate", c.SecondaryNodeEvictionRate, "the same in a large zone that is unhealthy; in a small one, none")
	fs.Int32Var(&c.LargeClusterSizeThreshold, "large-cluster-size-threshold", c.LargeClusterSizeThreshold, "the number of nodes above which a zone is large")
	fs.Float32Var(&c.UnhealthyZoneThreshold, "unhealthy-zone-threshold", c.UnhealthyZoneThreshold, "fraction of a zone's nodes, at least 3, that must not be ready for the zone to be unhealthy")
}

func nodeLifecycleOptions(s *Settings) nodelifecycle.Options {
	c := &s.NodeLifecycleController
	return nodelifecycle.Options{
		MonitorGracePeriod: c.NodeMonitorGracePeriod.Duration,
		StartupGracePeriod: c.NodeStartupGracePeriod.Duration,
		MonitorPeriod:      c.NodeMonitorPeriod.Duration,
		Zones: decide.ZoneOptions{
			EvictionRate: noneIfZero(c.NodeEvictionRate), SecondaryEvictionRate: noneIfZero(c.SecondaryNodeEvictionRate),
			LargeThreshold: int(c.LargeClusterSizeThreshold), UnhealthyThreshold: c.UnhealthyZoneThreshold,
		},
	}
}

// attachDetachFlags adds upstream's flags. The first two have no effect: the controller acts on each
// change of an attachment, and needs no passes to find it.
func attachDetachFlags(fs *pflag.FlagSet, s *Settings) {
	c := &s.AttachDetachController
	fs.BoolVar(&c.DisableAttachDetachReconcilerSync, "disable-attach-detach-reconcile-sync", c.DisableAttachDetachReconcilerSync, "accepted without effect: attachments are not compared periodically")
	fs.DurationVar(&c.ReconcilerSyncLoopPeriod.Duration, "attach-detach-reconcile-sync-period", c.ReconcilerSyncLoopPeriod.Duration, "accepted without effect: attachments are not compared periodically")
	fs.BoolVar(&c.DisableForceDetachOnTimeout, "disable-force-detach-on-timeout", c.DisableForceDetachOnTimeout, "never detach a volume that a node has in use because of the time that has passed")
}

func attachDetachOptions(s *Settings) persistentvolumeattachdetach.Options {
	return persistentvolumeattachdetach.Options{NoForce: s.AttachDetachController.DisableForceDetachOnTimeout}
}

func podGCFlags(fs *pflag.FlagSet, s *Settings) {
	c := &s.PodGCController
	fs.Int32Var(&c.TerminatedPodGCThreshold, "terminated-pod-gc-threshold", c.TerminatedPodGCThreshold, "number of ended pods to keep; 0 or less keeps all")
}

func podGCOptions(s *Settings) podgc.Options {
	return podgc.Options{TerminatedPodThreshold: int(noneIfZero(s.PodGCController.TerminatedPodGCThreshold))}
}

func tokenCleanerFlags(fs *pflag.FlagSet, s *Settings) {
	c := &s.LegacySATokenCleaner
	fs.DurationVar(&c.CleanUpPeriod.Duration, "legacy-service-account-token-clean-up-period", c.CleanUpPeriod.Duration, "time without use after which a generated token of a service account is marked as invalid, and then deleted")
}

func tokenCleanerOptions(s *Settings) legacyserviceaccounttokencleaner.Options {
	return legacyserviceaccounttokencleaner.Options{CleanUpPeriod: noneIfZero(s.LegacySATokenCleaner.CleanUpPeriod.Duration)}
}

// tokenFlags adds flags for files, which the process reads.
func tokenFlags(fs *pflag.FlagSet, s *Settings) {
	c := &s.SAController
	fs.StringVar(&c.ServiceAccountKeyFile, "service-account-private-key-file", c.ServiceAccountKeyFile, "file of the private key, in PEM, that signs the tokens of service accounts")
	fs.StringVar(&c.RootCAFile, "root-ca-file", c.RootCAFile, "file of the certificates that go with the tokens, and that namespaces get (default the kubeconfig's)")
}

func noneIfZero[N int32 | float32 | float64 | time.Duration](n N) N {
	if n == 0 {
		return -1
	}
	return n
}
