package minikcm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	config "k8s.io/kube-controller-manager/config/v1alpha1"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/releases"
	"minikcm.dev/minikcm/internal/simulatedcloud"
	"minikcm.dev/minikcm/kubeletsim"
)

// This file has what the stages of the assembly need of the options.

// release returns the release of Kubernetes whose API is served.
func (o *Options) release() (releases.Minor, error) {
	if o.API.Version == "" {
		return releases.Newest, nil
	}
	return releases.Parse(o.API.Version)
}

// serving returns which kinds and fields are served.
func (o *Options) serving() (apiserver.Serving, error) {
	release, err := o.release()
	if err != nil {
		return apiserver.Serving{}, fmt.Errorf("--emulated-version: %w", err)
	}
	apis, err := featuregates.ParseRuntimeConfig(o.API.RuntimeConfig)
	if err != nil {
		return apiserver.Serving{}, fmt.Errorf("--runtime-config: %w", err)
	}
	gates, err := featuregates.New(release, o.FeatureGates)
	if err != nil {
		return apiserver.Serving{}, fmt.Errorf("--feature-gates: %w", err)
	}
	return apiserver.Serving{Gates: gates, APIs: apis}, nil
}

// ValidateServing checks the release, the feature gates and the API versions.
func (o *Options) ValidateServing() error {
	_, err := o.serving()
	return err
}

// gates returns the features that are on. Validate has checked the options.
func (o *Options) gates() featuregates.Gates {
	s, err := o.serving()
	if err != nil {
		return featuregates.Gates{}
	}
	return s.Gates
}

// resources returns the table of the kinds that are served. Validate has checked the options.
func (o *Options) resources() *apiserver.ResourceTable {
	s, err := o.serving()
	if err != nil {
		return apiserver.BuiltinResources()
	}
	return apiserver.ResourcesFor(s)
}

// kubernetesVersion returns the version of Kubernetes that the cluster shows.
func (o *Options) kubernetesVersion() string {
	if release, err := o.release(); err == nil && o.API.Version != "" {
		return release.Version()
	}
	return apiserver.DefaultVersion
}

// WithoutEffect returns the items of FeatureGates and RuntimeConfig that change nothing, each with the reason.
func (o *Options) WithoutEffect() []string {
	s, err := o.serving()
	if err != nil {
		return nil
	}
	var all []string
	for _, name := range s.Gates.Ineffective() {
		all = append(all, fmt.Sprintf("feature gate %s of Kubernetes has no effect in minikcm", name))
	}
	table := apiserver.ResourcesFor(s)
	for _, gv := range s.APIs.Versions() {
		if len(table.InVersion(gv)) == 0 {
			all = append(all, unserved(s, gv))
		}
	}
	for _, gate := range slices.Sorted(maps.Keys(gatedKinds)) {
		kind := gatedKinds[gate]
		if o.FeatureGates[gate] && !s.APIs.Serves(s.Gates.Release(), kind) {
			all = append(all, fmt.Sprintf("--feature-gates=%s=true has no effect without --runtime-config=%s=true", gate, kind.GroupVersion()))
		}
	}
	return all
}

// unserved says why a version that is turned on serves nothing.
func unserved(s apiserver.Serving, gv schema.GroupVersion) string {
	on := s
	on.Gates = apiserver.AllFeatures().Gates
	var gates []string
	if s.Gates.Release() == releases.Newest {
		for _, row := range apiserver.ResourcesFor(on).InVersion(gv) {
			if gate := featuregates.GateOf(row.Group, row.Plural); gate != "" {
				gates = append(gates, gate+"=true")
			}
		}
	}
	if len(gates) > 0 {
		return fmt.Sprintf("--runtime-config=%s=true serves nothing without --feature-gates=%s", gv, strings.Join(gates, ","))
	}
	return fmt.Sprintf("--runtime-config: API version %s is not served in minikcm, or not as Kubernetes %s had it", gv, s.Gates.Release())
}

// inCloud reports whether the nodes are in the simulated cloud.
func (o *Options) inCloud() bool { return o.Nodes.Cloud == simulatedcloud.Provider }

// admission returns the options of the admission plugins.
func (o *Options) admission() apiserver.AdmissionOptions {
	options := apiserver.AdmissionOptions{Enable: o.Security.EnableAdmissionPlugins, Disable: o.Security.DisableAdmissionPlugins, ConfigFile: o.Security.AdmissionConfig}
	const taints = "TaintNodesByCondition"
	selected, err := o.selectedControllers()
	if err == nil && !slices.Contains(selected, controllers.NodeLifecycle) && !slices.Contains(options.Enable, taints) {
		options.Disable = append(slices.Clone(options.Disable), taints)
	}
	return options
}

// selectedControllers returns the names of the controllers that run.
func (o *Options) selectedControllers() ([]string, error) {
	return controllers.ParseSelection(strings.Join(o.Controllers.Selected, ","), o.gates())
}

// schedulerOptions reads the configuration of the scheduler.
func (o *Options) schedulerOptions() (controllers.SchedulerOptions, error) {
	opts := controllers.SchedulerOptions{PodGroups: o.gates().Enabled(featuregates.GenericWorkload)}
	if o.Controllers.SchedulerConfig == "" {
		return opts, nil
	}
	if o.Controllers.NoScheduler {
		return opts, fmt.Errorf("a configuration of the scheduler (%s) was given, but no scheduler runs: leave out one of them", o.Controllers.SchedulerConfig)
	}
	var err error
	opts.Config, err = controllers.ReadSchedulerConfig(o.Controllers.SchedulerConfig)
	return opts, err
}

func (p *PodNetworks) clusterCIDR() string {
	if strings.TrimSpace(p.ClusterCIDR) == "" {
		return DefaultClusterCIDR
	}
	return p.ClusterCIDR
}

// families returns the IP families of nodes and pods: the families of ClusterCIDR if it is allocated, otherwise of
// the Services.
func (o *Options) families() kubeletsim.Families {
	if o.Nodes.PodNetworks.Allocate {
		return kubeletsim.FamiliesOf(strings.Split(o.Nodes.PodNetworks.clusterCIDR(), ","))
	}
	return kubeletsim.FamiliesOf(o.API.ServiceRanges)
}

// controllerSettings returns the options of the controllers.
func (o *Options) controllerSettings() *controllers.Settings {
	s := controllers.Defaults()
	s.KubeCloudShared.CloudProvider.Name = o.Nodes.Cloud
	for _, r := range o.Controllers.GCIgnored {
		s.GarbageCollectorController.GCIgnoredResources = append(s.GarbageCollectorController.GCIgnoredResources, config.GroupResource(r))
	}
	if p := &o.Nodes.PodNetworks; p.Allocate {
		s.KubeCloudShared.AllocateNodeCIDRs, s.KubeCloudShared.ClusterCIDR = true, p.clusterCIDR()
		c := &s.NodeIPAMController
		c.NodeCIDRMaskSize, c.NodeCIDRMaskSizeIPv4, c.NodeCIDRMaskSizeIPv6 = int32(p.MaskSize), int32(p.IPv4MaskSize), int32(p.IPv6MaskSize)
		c.ServiceCIDR = strings.Join(o.API.ServiceRanges, ",")
	}
	return s
}

// declaredNodes returns the number of the nodes of the options.
func (o *Options) declaredNodes() int {
	n := max(o.Nodes.Count, 0)
	for i := range o.Nodes.Pools {
		n += o.Nodes.Pools[i].Count
	}
	return n
}

// observes reports whether the cluster begins with the state of another one, whose pods and nodes go on
// as they were.
func (o *Options) observes() bool { return o.Storage.Objects != nil || o.Storage.Snapshot != "" }

// shares reports whether other processes may run on the same etcd. On a virtual clock a cluster
// is alone, because clocks that jump by themselves cannot agree.
func (o *Options) shares() bool {
	return o.sharesStore() && o.Clock.Mode != clock.ModeVirtual
}

// text returns a history as ParseHistory reads it; empty for the zero value.
func (h History) text() string {
	switch {
	case h.Revisions > 0:
		return strconv.FormatInt(h.Revisions, 10)
	case h.Duration > 0:
		return h.Duration.String()
	}
	return ""
}

// containerStop is the default of Latencies.ContainerStop: a client that deletes a pod and
// reads it at once finds it terminating, as in any cluster.
const containerStop = 50 * time.Millisecond

func (o *Options) complete() {
	switch {
	case o.Nodes.Count == 0:
		o.Nodes.Count = 1
	case o.Nodes.Count < 0:
		o.Nodes.Count = 0
	}
	if o.Notices.GetSink() == nil {
		o.Notices = o.Logger
	}
	if o.Clock.Start.IsZero() {
		o.Clock.Start = DefaultClockStart
	}
	o.Nodes.Latencies.ContainerStop = max(cmp.Or(o.Nodes.Latencies.ContainerStop, containerStop), 0)
	if o.Seed == 0 {
		o.Seed = clock.NewSeed()
	}
	if o.Sharing.Etcd.DialTimeout == 0 {
		o.Sharing.Etcd.DialTimeout = etcdDialTimeout
	}
	if len(o.Controllers.Selected) == 0 {
		o.Controllers.Selected = []string{"*"}
	}
}

func (s *Stages) watches() bool { return s.Watch || len(s.Manifests) > 0 }
