package parts

import (
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/assembly/identity"
	"minikcm.dev/minikcm/internal/assembly/timing"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/heartbeats"
	"minikcm.dev/minikcm/kubeletsim"
)

// Options say which parts a cluster has.
type Options struct {
	Timing   *timing.Timing
	Identity *identity.Identity
	// Local is the way to the API server, which is not there yet.
	Local *apiserver.Local
	// Group runs the parts.
	Group *Group
	Gates featuregates.Gates
	// Heartbeats are written when they are observed; nil: always.
	Heartbeats      *heartbeats.Elision
	Metrics         *prometheus.Registry
	Logger, Notices klog.Logger

	// Selected are the names of the controllers, and Settings their options.
	Selected []string
	Settings *controllers.Settings
	// Scheduler reads the options of the scheduler, each time that it starts; nil: there is none.
	Scheduler func() (controllers.SchedulerOptions, error)
	// LeaderElection lets controllers and scheduler work only while they hold their leases.
	LeaderElection bool
	// Shares says that several processes on one etcd divide the work. AdvertiseAddress is the host by
	// which they reach this one; empty: the one that the API server listens on.
	Shares           bool
	AdvertiseAddress string
	// LoadBalancers is the network of load balancers' addresses; not valid: the default.
	LoadBalancers netip.Prefix

	// Nodes are the options of the kubelets, without the fields of the rest of the cluster.
	Nodes kubeletsim.Options
	// Admins makes kubelets administrators.
	Admins bool
	// InCloud says that the nodes are in the simulated cloud.
	InCloud bool
	// Stages says that kwok's kinds take effect.
	Stages bool
}

// hasNodes reports whether the process can simulate nodes.
func (o *Options) hasNodes() bool {
	return o.Nodes.Nodes > 0 || len(o.Nodes.Pools) > 0 || o.Nodes.ManageNodes != kubeletsim.ManageNone
}
