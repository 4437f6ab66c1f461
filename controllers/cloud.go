package controllers

import (
	"github.com/spf13/pflag"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/cloud"
	"minikcm.dev/minikcm/controllers/internal/cloudnode"
	"minikcm.dev/minikcm/controllers/internal/cloudnodelifecycle"
	"minikcm.dev/minikcm/controllers/internal/noderoute"
	"minikcm.dev/minikcm/internal/simulatedcloud"
)

// cloudControllers returns the controllers that apply the state of the cloud to nodes.
func cloudControllers() []Descriptor {
	const docs = "concepts/architecture/cloud-controller/"
	return []Descriptor{
		{
			Name: cloudnode.Name, Aliases: []string{"cloud-node"}, Account: "node-controller",
			About:   "gives new nodes the provider ID, labels and addresses of their instances in the simulated cloud (one of cloud-controller-manager's)",
			Watches: []string{"nodes", "configmaps"}, Writes: []string{"nodes", "nodes/status"},
			Docs:  docs + "#node-controller",
			Flags: cloudFlags, Build: configured(cloudnode.New, cloudNodeOptions),
		},
		{
			Name: cloudnodelifecycle.Name, Aliases: []string{"cloud-node-lifecycle"}, Account: "node-controller",
			About:   "deletes nodes whose instances are gone in the simulated cloud, and taints those whose instances are shut down",
			Watches: []string{"nodes", "configmaps"}, Writes: []string{"nodes"},
			Docs:  docs + "#node-controller",
			Build: configured(cloudnodelifecycle.New, cloudNodeLifecycleOptions),
		},
		{
			Name: noderoute.Name, Aliases: []string{"route"}, Account: "route-controller",
			About:   "keeps routes to the pod networks of nodes in the simulated cloud",
			Watches: []string{"nodes", "configmaps"}, Writes: []string{"configmaps", "nodes/status"},
			Docs:  docs + "#route-controller",
			Flags: nodeRouteFlags, Build: configured(noderoute.New, nodeRouteOptions),
		},
	}
}

// cloudDefaults sets upstream's defaults.
func cloudDefaults(s *Settings) {
	s.KubeCloudShared.ConfigureCloudRoutes = ptr.To(true)
	s.KubeCloudShared.RouteReconciliationPeriod.Duration = noderoute.DefaultPeriod
}

// providerFlag is the flag --cloud-provider, which refuses unknown clouds.
type providerFlag struct{ name *string }

func (f providerFlag) String() string {
	if f.name == nil {
		return ""
	}
	return *f.name
}

func (f providerFlag) Type() string { return "string" }

func (f providerFlag) Set(name string) error {
	if err := cloud.CheckProvider(name); err != nil {
		return err
	}
	*f.name = name
	return nil
}

func cloudFlags(fs *pflag.FlagSet, s *Settings) {
	fs.Var(providerFlag{&s.KubeCloudShared.CloudProvider.Name}, "cloud-provider", "the cloud of the nodes: "+simulatedcloud.Provider+", or none; external is none, because its controllers run elsewhere")
}

func nodeRouteFlags(fs *pflag.FlagSet, s *Settings) {
	shared := &s.KubeCloudShared
	fs.BoolVar(shared.ConfigureCloudRoutes, "configure-cloud-routes", *shared.ConfigureCloudRoutes, "create routes in the cloud for the pod networks that --allocate-node-cidrs gives to nodes")
	fs.DurationVar(&shared.RouteReconciliationPeriod.Duration, "route-reconciliation-period", shared.RouteReconciliationPeriod.Duration, "interval between passes over the routes")
}

// inCloud reports whether there is a simulated cloud.
func inCloud(s *Settings) bool {
	return s.KubeCloudShared.CloudProvider.Name == simulatedcloud.Provider
}

func cloudNodeOptions(s *Settings) cloudnode.Options { return cloudnode.Options{Cloud: inCloud(s)} }

func cloudNodeLifecycleOptions(s *Settings) cloudnodelifecycle.Options {
	return cloudnodelifecycle.Options{Cloud: inCloud(s), MonitorPeriod: s.NodeLifecycleController.NodeMonitorPeriod.Duration}
}

func nodeRouteOptions(s *Settings) noderoute.Options {
	shared := &s.KubeCloudShared
	return noderoute.Options{
		Cloud: inCloud(s), Allocate: shared.AllocateNodeCIDRs, Routes: ptr.Deref(shared.ConfigureCloudRoutes, true),
		ClusterCIDR: shared.ClusterCIDR, Period: shared.RouteReconciliationPeriod.Duration,
	}
}
