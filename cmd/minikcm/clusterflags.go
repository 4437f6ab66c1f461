package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/accessapi"
	"minikcm.dev/minikcm/internal/clockapi"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/loopapi"
	"minikcm.dev/minikcm/internal/reachapi"
	"minikcm.dev/minikcm/internal/releases"
	"minikcm.dev/minikcm/internal/scenarioapi"
	"minikcm.dev/minikcm/internal/viewapi"
	"minikcm.dev/minikcm/kubeletsim"
	"minikcm.dev/minikcm/scenarios"
)

// clusterFlags are the flags of every command that starts a cluster.
type clusterFlags struct {
	serverFlags
	nodes       nodesFlag
	pools       []string
	manageAll   bool
	stages      []string
	dataDir     string
	snapshot    string
	objects     objectFlags
	etcd        etcdFlags
	port        int
	clock       string
	seed        uint64
	controllers []string
	scheduler   bool
	leaderElect bool
	// schedulerConfig is the file of --scheduler-config.
	schedulerConfig string
	memoryLimit     string
	// featureGates and runtimeConfig are the items of --feature-gates and --runtime-config.
	featureGates, runtimeConfig []string
	emulatedVersion             string

	startDelay, readyDelay, serviceSync time.Duration
	podNetworks                         minikcm.PodNetworks
	cloudProvider                       string
	// catalog is the value of --image-catalog.
	catalog string
	// registry is the file of --registry-file.
	registry        string
	ignoreSimulated bool
}

func (f *clusterFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.serverFlags.register(flags, apiserver.DefaultAuthorizationModes())
	f.nodes.count = 1
	flags.Var(&f.nodes, "nodes", fmt.Sprintf("number of simulated nodes to start (0 with --pool, a file or --from-snapshot, or if --from-objects contains Nodes), or a file with a NodePools document that describes them; can be repeated; at most %d nodes including those of --pool", minikcm.MaxNodes))
	flags.StringArrayVar(&f.pools, "pool", nil, "start a pool of identical nodes, such as name=a,nodes=4,cpu=4,memory=8Gi,pods=110,label=k=v,taint=k=v:NoSchedule; the nodes are named a-0, a-1 ...; can be repeated")
	flags.BoolVar(&f.manageAll, "manage-all-nodes", true, "also simulate Nodes that clients create; if false, simulate only those annotated minikcm.dev/node: simulated or kwok.x-k8s.io/node: fake, and with --nodes 0 none")
	flags.StringArrayVar(&f.stages, "stages", nil, "start with kwok's Stages, ResourceUsages, ClusterResourceUsages and Metrics (kwok.x-k8s.io/v1alpha1) in this file or folder, and serve their kinds; can be repeated. Without it, they have effect once kwok's CustomResourceDefinitions are applied")
	flags.BoolVar(&f.podNetworks.Allocate, "allocate-node-cidrs", false, "let the node-ipam-controller give the nodes their pod networks; otherwise the simulated kubelets register with theirs")
	flags.StringVar(&f.podNetworks.ClusterCIDR, "cluster-cidr", "", "range of the addresses of pods, or one of IPv4 and one of IPv6, separated by a comma; used with --allocate-node-cidrs (default "+minikcm.DefaultClusterCIDR+")")
	flags.IntVar(&f.podNetworks.MaskSize, "node-cidr-mask-size", 0, "length of the prefix of a node's pod network, with one range (default 24 for IPv4, 64 for IPv6)")
	flags.IntVar(&f.podNetworks.IPv4MaskSize, "node-cidr-mask-size-ipv4", 0, "the same of its IPv4 network, with two ranges (default 24)")
	flags.IntVar(&f.podNetworks.IPv6MaskSize, "node-cidr-mask-size-ipv6", 0, "the same of its IPv6 network, with two ranges (default 64)")
	flags.StringVar(&f.cloudProvider, "cloud-provider", "", "put the nodes into a cloud: simulated, in which each has an instance and, with --allocate-node-cidrs, routes to its pod networks; they are ConfigMaps in the namespace minikcm-cloud (default none)")
	flags.StringVar(&f.catalog, "image-catalog", "", "what is known of images that no ConfigMap describes: none, or a file with ConfigMaps as image profiles (default the catalog that \"minikcm images\" lists)")
	flags.StringVar(&f.registry, "registry-file", "", "file with the images that exist, one reference a line, in which * matches any text; pulls of others fail with ErrImagePull (default: every image exists)")
	flags.BoolVar(&f.ignoreSimulated, "ignore-simulated-webhooks", false, "skip webhooks and APIServices behind which only simulated pods are, which otherwise fail: clients get a warning, and the Service an event")
	flags.StringVar(&f.dataDir, "data-dir", "", "keep the cluster's state in this directory; without it, the state is lost when the command ends")
	flags.StringVar(&f.snapshot, "from-snapshot", "", "start with the objects in this etcd snapshot, which is not changed")
	f.objects.register(flags, "start with the objects in these files or folders, as printed by \"kubectl get -A -o yaml\"; - is standard input; can be repeated")
	f.etcd.register(flags, "use the etcd cluster at these URLs instead of the embedded one; minikcm processes on one etcd divide the work")
	flags.IntVar(&f.port, "port", 0, "port to serve HTTPS on; 0 selects a free port")
	flags.StringVar(&f.emulatedVersion, "emulated-version", "", "serve the API of this minor release of Kubernetes, such as 1.33, with the defaults of its feature gates ("+releases.Oldest.String()+" to "+releases.Newest.String()+"; default "+releases.Newest.String()+")")
	flags.StringSliceVar(&f.featureGates, "feature-gates", nil, "feature gates, name=true or name=false, also AllAlpha and AllBeta; docs/feature-gates.md lists those that have an effect")
	flags.StringSliceVar(&f.runtimeConfig, "runtime-config", nil, "API versions and resources to turn on or off, such as resource.k8s.io/v1beta1=true, batch/v1/cronjobs=false, api/beta=true or api/all=true")
	flags.StringVar(&f.memoryLimit, "memory-limit", "", "memory that the process may use, such as 2Gi; near it, requests that take memory are rejected with 429 (default GOMEMLIMIT or, if that is not set, three quarters of the memory of the machine or the cgroup)")
	flags.StringVar(&f.clock, "clock", "real", "the cluster's clock: real, or virtual=N for time that runs N times faster, waits for the cluster's work, and is controlled by \"minikcm clock\"; virtual is virtual=1, and scaled=N is virtual=N, except with --etcd-servers")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of names, UIDs and all other random choices; 0 selects a new seed")
	flags.DurationVar(&f.startDelay, "start-delay", 0, "how long a pod takes to start, such as 2s, unless its annotation minikcm.dev/start-delay overrides it")
	flags.DurationVar(&f.readyDelay, "ready-delay", 0, "how long a started container takes to become ready, unless the pod's annotation minikcm.dev/ready-delay overrides it")
	flags.DurationVar(&f.serviceSync, "kube-proxy-min-sync-period", 0, "least time between two syncs of the nodes' rules of Services, such as 1s, kube-proxy's default: changes within it wait, so that pods which are gone get requests for a moment; 0 lets nodes know changes at once")
	flags.StringSliceVar(&f.controllers, "controllers", []string{"*"}, "controllers to run: '*' enables all that are on by default, 'name' adds one, '-name' disables one")
	flags.BoolVar(&f.scheduler, "scheduler", true, "run the scheduler; if false, pods stay unassigned unless a client binds them")
	flags.BoolVar(&f.leaderElect, "leader-elect", false, "let the controllers and the scheduler work only while they hold the leases kube-controller-manager and kube-scheduler, which they renew every two seconds, as upstream's do; not with --etcd-servers")
	flags.StringVar(&f.schedulerConfig, "scheduler-config", "", "file of a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) with the scheduler's profiles, plugins and extenders")
}

// ownExtensions are the extensions of every cluster that a command starts, and of its forks.
func ownExtensions() []minikcm.Extension {
	return []minikcm.Extension{scenarios.FaultExtension(scenarios.User), accessapi.Extension(), clockapi.Extension(), loopapi.Extension(), loopapi.DebuggerExtension(), reachapi.Extension(), scenarioapi.Extension(), viewapi.Extension()}
}

// options returns the cluster options that the flags describe. Its errors are badInput.
func (f *clusterFlags) options() (minikcm.Options, error) {
	opts, err := f.parse()
	if err == nil {
		err = opts.Validate()
	}
	return opts, asBadInput(err)
}

func (f *clusterFlags) parse() (minikcm.Options, error) {
	opts := minikcm.Options{
		Nodes:       minikcm.NodeOptions{Count: f.nodes.count, PodNetworks: f.podNetworks, Cloud: f.cloudProvider},
		Storage:     minikcm.StorageOptions{DataDir: f.dataDir, Snapshot: f.snapshot},
		API:         minikcm.APIOptions{Port: f.port, Extensions: ownExtensions()},
		Seed:        f.seed,
		Controllers: minikcm.ControllerOptions{Selected: f.controllers, NoScheduler: !f.scheduler, SchedulerConfig: f.schedulerConfig},
		Sharing:     minikcm.SharingOptions{LeaderElection: f.leaderElect},
		Logger:      klog.Background(),
		Faults:      minikcm.FaultOptions{API: true, Store: true},
	}
	for name, d := range map[string]time.Duration{"--start-delay": f.startDelay, "--ready-delay": f.readyDelay, "--kube-proxy-min-sync-period": f.serviceSync} {
		if d < 0 {
			return opts, fmt.Errorf("%s must not be negative, but is %v", name, d)
		}
	}
	err := f.serverFlags.set(&opts)
	if err != nil {
		return opts, err
	}
	if err = controllers.CheckCloudProvider(f.cloudProvider); err != nil {
		return opts, badInput{err}
	}
	if err = f.setGates(&opts); err != nil {
		return opts, badInput{err}
	}
	if opts.API.MemoryLimit, err = limitMemory(f.memoryLimit); err != nil {
		return opts, badInput{err}
	}
	if opts.Storage.Objects, err = f.objects.read(os.Stdin); err != nil {
		return opts, err
	}
	opts.Security.IgnoreSimulatedWebhooks = f.ignoreSimulated
	if f.registry != "" {
		if opts.Nodes.Registry, err = readRegistry(f.registry); err != nil {
			return opts, badInput{err}
		}
	}
	if opts.Nodes.ImageCatalog, err = readCatalog(f.catalog); err != nil {
		return opts, badInput{err}
	}
	if f.catalog != "" { // the built-in one needs no check, which compiles all its expressions
		if _, err = kubeletsim.ImageCatalog(opts.Nodes.ImageCatalog); err != nil {
			return opts, badInput{fmt.Errorf("--image-catalog: %w", err)}
		}
	}
	opts.Nodes.Stages.Watch = true
	if opts.Nodes.Stages.Manifests, err = minikcm.ReadStages(f.stages); err != nil {
		return opts, badInput{fmt.Errorf("--stages %w", err)}
	}
	opts.Nodes.Latencies.PodStart, opts.Nodes.Latencies.ContainerReady, opts.Nodes.Latencies.ServiceSync = f.startDelay, f.readyDelay, f.serviceSync
	if err = f.nodeOptions(&opts); err != nil {
		return opts, err
	}
	if opts.Sharing.Etcd, err = f.etcd.options(); err != nil {
		return opts, err
	}
	return opts, f.setClock(&opts)
}

// setGates sets the release, the feature gates and the API versions. What has no effect is an error.
func (f *clusterFlags) setGates(opts *minikcm.Options) error {
	set, err := featuregates.Parse(f.featureGates)
	if err != nil {
		return fmt.Errorf("--feature-gates: %w", err)
	}
	opts.API.Version, opts.FeatureGates, opts.API.RuntimeConfig = f.emulatedVersion, set, f.runtimeConfig
	if err := opts.ValidateServing(); err != nil {
		return err
	}
	if without := opts.WithoutEffect(); len(without) > 0 {
		return errors.New(strings.Join(without, "\n"))
	}
	return nil
}

// nodeOptions sets the options that determine the cluster's nodes.
func (f *clusterFlags) nodeOptions(opts *minikcm.Options) error {
	var err error
	if opts.Nodes.Pools, err = f.nodes.pools(); err != nil {
		return err
	}
	for _, text := range f.pools {
		pool, err := parsePool(text)
		if err != nil {
			return badInput{fmt.Errorf("--pool %s: %w", text, err)}
		}
		opts.Nodes.Pools = append(opts.Nodes.Pools, pool)
	}
	switch nodes := f.nodes.count; {
	case nodes < 0:
		return fmt.Errorf("--nodes must not be negative, but is %d", nodes)
	case nodes > minikcm.MaxNodes:
		return badInput{fmt.Errorf("--nodes %d: %w", nodes, minikcm.ErrTooManyNodes)}
	case nodes == 0, (len(opts.Nodes.Pools) > 0 || opts.Storage.Snapshot != "" || opts.Storage.Objects != nil && opts.Storage.Objects.HasNodes()) && !f.nodes.counted:
		opts.Nodes.Count = -1
	}
	if err := minikcm.CheckNodes(max(opts.Nodes.Count, 0), opts.Nodes.Spec, opts.Nodes.Pools); err != nil {
		return badInput{fmt.Errorf("--nodes and --pool together: %w", err)}
	}
	switch {
	case f.manageAll:
		opts.Nodes.Manage = minikcm.ManageAll
	case opts.Nodes.Count <= 0 && len(opts.Nodes.Pools) == 0:
		opts.Nodes.Manage = minikcm.ManageNone
	}
	return nil
}

// setClock sets the options of --clock: real, scaled=N, virtual or virtual=N. The last three
// are virtual clocks, which start at the machine's time; only processes that share an etcd, and
// have no virtual clock in common, run on scaled ones.
func (f *clusterFlags) setClock(opts *minikcm.Options) error {
	mode, factor, err := clock.ParseMode(f.clock)
	if number, paced := strings.CutPrefix(f.clock, string(clock.ModeVirtual)+"="); paced {
		mode = clock.ModeVirtual
		factor, err = strconv.ParseFloat(number, 64)
	}
	if err != nil {
		return badInput{fmt.Errorf("--clock=%s: must be real, virtual, virtual=N or scaled=N with a number N greater than 0, such as virtual=60", f.clock)}
	}
	opts.Clock.Mode, opts.Clock.Speed = mode, factor
	if f.clock == string(clock.ModeVirtual) {
		opts.Clock.Speed = 1
	}
	shared := len(opts.Sharing.Etcd.Endpoints) > 0
	switch {
	case mode == clock.ModeReal, mode == clock.ModeScaled && shared:
		return nil
	case shared:
		return badInput{fmt.Errorf("--clock=%s: processes that share an etcd have no virtual clock in common; use real or scaled=N with --etcd-servers", f.clock)}
	}
	opts.Clock.Mode, opts.Clock.Start = clock.ModeVirtual, clock.Real().Now()
	if err := clock.ValidateSpeed(opts.Clock.Speed); err != nil {
		return badInput{fmt.Errorf("--clock=%s: %w", f.clock, err)}
	}
	return nil
}
