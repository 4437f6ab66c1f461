package minikcm

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/simulatedcloud"
	"minikcm.dev/minikcm/store"
)

// Options configure a cluster. The zero value is an ephemeral cluster of one node on real
// time, reachable over HTTPS on a free port of the loopback interface.
type Options struct {
	// Nodes is the number of simulated nodes. 0 means one; negative means none.
	Nodes int
	// Node describes each of them. Pools are further groups of nodes.
	Node  NodeSpec
	Pools []Pool
	// ManageNodes selects which Nodes that clients create through the API are simulated:
	// those that are marked (the default), all, or none.
	ManageNodes ManageNodes
	// PodNetworks are the networks of the pods' addresses.
	PodNetworks PodNetworks
	// CloudProvider is the cloud in which the nodes are: "simulated", or empty for none. In the
	// simulated cloud, each simulated node has an instance, a ConfigMap in the namespace
	// minikcm-cloud, and with PodNetworks.Allocate routes to its networks.
	CloudProvider string
	// Stages are kwok's Stages that have effect.
	Stages Stages
	// Registry, if not empty, lists the images that exist: references, one a line, in which * matches any text.
	// No other image can be pulled. It becomes a ConfigMap with the label minikcm.dev/registry in kube-system.
	Registry string
	// IgnoreSimulatedWebhooks skips webhooks and APIServices behind which only simulated pods are: clients get a
	// warning, and the Service an event. Without it, they fail.
	IgnoreSimulatedWebhooks bool
	// Latencies are the delays of the nodes. ContainerStop defaults to 50 ms, so that
	// clients can observe pods that terminate; negative means no delay.
	Latencies Latencies

	// DataDir keeps the cluster across restarts, with fsync. Empty: the files are in a
	// temporary directory that Close removes.
	DataDir string
	// Identity is the identity of an earlier cluster (Cluster.Identity), which this
	// cluster without a data directory replaces: it accepts the same kubeconfigs, certificates and tokens,
	// and its resource versions are later. Nil: a new identity. On an external etcd, the
	// first process stores its identity; nil then means the stored one, and any other is an
	// error.
	Identity *Identity
	// Snapshot is the file of an etcd snapshot, taken from minikcm or from any other
	// cluster, whose state an ephemeral cluster starts with. A virtual clock should not
	// start before the time of the snapshot.
	Snapshot string
	// Objects are loaded before the controllers and the nodes start, which take them over
	// as their own: see package dump. Cluster.Loaded reports the result. Their Nodes are
	// simulated as ManageNodes says.
	Objects *dump.Dump
	// Etcd connects to an existing etcd cluster if it names endpoints. Its DialTimeout
	// defaults to 5 s.
	Etcd store.EtcdOptions

	// StoreFaults allows faults of the store: Cluster.StoreFaults.
	StoreFaults bool
	// APIFaults allows faults of the API server: Cluster.APIFaults.
	APIFaults bool

	// Extensions serve further paths beneath /minikcm/v1/. Start starts them in this order;
	// Close closes them before anything else.
	Extensions []Extension

	// NoHTTPS omits the socket: only clients in the process reach the cluster.
	NoHTTPS bool
	// BindAddress is the IP address to listen on; empty means 127.0.0.1. 0.0.0.0 means all
	// IPv4 addresses of the machine, and :: those of both families.
	BindAddress string
	// Port is the port to listen on; 0 means a free one.
	Port int
	// ServingCertificate is the certificate to serve HTTPS with; the zero value means one of
	// the cluster's own authority.
	ServingCertificate ServingCertificate
	// ServiceAccountTokens configures keys and issuers of the tokens of service accounts.
	ServiceAccountTokens ServiceAccountTokens
	// AdvertiseAddress is the IP address in the endpoints of the Service kubernetes. Empty:
	// the address listened on or, because Endpoints may not name the loopback interface,
	// the first other address of the machine, or a simulated one.
	AdvertiseAddress string
	// ServiceRanges are the networks of cluster IPs: one, or one of each IP family with the
	// default family first. Empty means 10.96.0.0/16. Nodes and pods have addresses of the same
	// families, unless PodNetworks says otherwise. NodePorts is the range of node ports;
	// empty means 30000-32767.
	ServiceRanges []string
	NodePorts     string
	// MaxRequests limits the reads, and MaxMutatingRequests all other requests, that are
	// served over HTTPS at once. Watches and other long-running requests do not count. 0
	// means 400 and 200, negative no limit.
	MaxRequests, MaxMutatingRequests int
	// AuthorizationModes are asked in turn whether a user may make a request: Node, RBAC,
	// AlwaysAllow or AlwaysDeny, as in kube-apiserver's --authorization-mode; empty means Node
	// and RBAC. Members of the group system:masters may do everything.
	AuthorizationModes []string
	// EnableAdmissionPlugins and DisableAdmissionPlugins change which admission plugins run, as
	// the flags of kube-apiserver do (docs/admission.md). TaintNodesByCondition only runs with
	// the node-lifecycle-controller, which removes its taint, unless it is enabled here.
	EnableAdmissionPlugins, DisableAdmissionPlugins []string
	// AdmissionConfigFile is the path of an AdmissionConfiguration, which configures plugins;
	// empty: none is configured.
	AdmissionConfigFile string
	// AuthorizationWebhook is asked by the mode Webhook of AuthorizationModes.
	AuthorizationWebhook AuthorizationWebhook
	// AuthorizationConfig is the path of an AuthorizationConfiguration
	// (apiserver.config.k8s.io/v1), whose authorizers replace AuthorizationModes and
	// AuthorizationWebhook. New content of the file takes effect. Empty: there is none.
	AuthorizationConfig string
	// Authentication configures ways to authenticate besides the cluster's own certificates
	// and tokens.
	Authentication Authentication
	// Denied is called when a controller or the scheduler of the cluster may not make a request
	// that it made; nil: the log says so. It must not block.
	Denied func(user string, err error)
	// EncryptionConfig is the file of an apiserver.config.k8s.io/v1 EncryptionConfiguration,
	// which says what is stored encrypted; empty: nothing is. With ReloadEncryptionConfig, new
	// content of the file takes effect; it must still have the keys of what is stored.
	EncryptionConfig       string
	ReloadEncryptionConfig bool
	// Audit records the requests to the API server, also those of the cluster's own parts;
	// the zero value records nothing. Begin with audit.DefaultOptions.
	Audit apiserver.AuditOptions
	// MemoryLimit is the memory that the process may use, in bytes. Near it, requests that
	// take memory are rejected with 429, also those of controllers that create objects. 0
	// means no limit. Go's garbage collector has a limit of its own (GOMEMLIMIT,
	// debug.SetMemoryLimit), which should be the same.
	MemoryLimit uint64
	// RecordedWrites is how many writes the write record keeps, the newest ones; 0 means
	// 100,000. A write takes about 500 bytes. As many kinds of refused requests are kept, at most 2,000.
	RecordedWrites int
	// NoMetricsAPI leaves out the metrics APIs (metrics.k8s.io and its siblings), which are a server of their own
	// elsewhere.
	NoMetricsAPI bool
	// Flags are the values of the flags with which a program was started; the API server shows them at
	// /flagz to who may read that.
	Flags map[string]string
	// KubeconfigPath is the file to which the administrator's kubeconfig is written, as JSON
	// if its name ends in .json. An existing file is replaced only if minikcm wrote it; Close
	// removes the file. If the path is empty, no file is written.
	KubeconfigPath string

	// ClockMode is real (the default), scaled or virtual.
	ClockMode clock.Mode
	// ClockFactor is the speed of a scaled clock, as a multiple of real time. A virtual clock
	// runs at that speed once the nodes are Ready, and Cluster.Pacer changes the speed; with 0,
	// its time passes only during a call of Advance, Wait or Until.
	ClockFactor float64
	// ClockStart is the time at which a virtual clock starts; the zero time means
	// DefaultClockStart.
	ClockStart time.Time
	// Seed determines names, UIDs and all other random choices; 0 means a new seed.
	Seed uint64

	// Gatherer provides metrics of the process, which /metrics serves in addition to those
	// of the API server; nil: none.
	Gatherer prometheus.Gatherer

	// Driven makes the controllers and nodes of a virtual cluster work only during a call
	// of Advance, Wait or Until, or while a caller waits for the Ledger to be idle. What a
	// caller does between two such calls is complete before they react to it, so that the
	// seed alone determines the order of events.
	Driven bool

	// Controllers selects controllers as the flag --controllers of kube-controller-manager
	// does: "*" means all that are on by default, "name" adds one, "-name" removes one.
	// Empty means "*".
	Controllers []string
	// NoScheduler runs no scheduler: pods stay unassigned unless a client binds them.
	NoScheduler bool
	// LeaderElection lets the controllers and the scheduler work only while they hold the leases
	// kube-controller-manager and kube-scheduler in kube-system, as upstream's processes do. One that
	// cannot renew its lease within 10 seconds ends, and starts again as a static pod does.
	LeaderElection bool
	// SchedulerConfig is the file of a kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration,
	// which is read when the cluster starts; empty: kube-scheduler's default configuration.
	SchedulerConfig string
	// EmulatedVersion is the minor release of Kubernetes whose API is served, such as "1.33": its groups, versions,
	// kinds and fields, the defaults of its feature gates, and its version. Controllers, scheduler and nodes are
	// always those of the newest release. Empty: the newest.
	EmulatedVersion string
	// FeatureGates turns features of the release on or off by the names of their gates (--feature-gates).
	FeatureGates map[string]bool
	// RuntimeConfig are API versions and resources to serve or not, as the items of --runtime-config:
	// "api/beta=true", "resource.k8s.io/v1beta1=true", "batch/v1/cronjobs=false".
	RuntimeConfig []string
	// GenericWorkload serves Workload and PodGroup of scheduling.k8s.io/v1beta1, schedules pods by their PodGroups
	// and runs the podgroup-protection-controller (KEP-4671), as upstream with the feature gate of that
	// name and --runtime-config=scheduling.k8s.io/v1beta1=true.
	GenericWorkload bool
	// DRAResourcePoolStatus serves ResourcePoolStatusRequest of resource.k8s.io/v1alpha3 and runs the
	// resourcepoolstatusrequest-controller (KEP-5677), as upstream with the feature gate of that name and
	// --runtime-config=resource.k8s.io/v1alpha3=true.
	DRAResourcePoolStatus bool
	// DRAPartitionableDevicesType keeps the attributes by which the partitions of devices are counted for
	// ResourcePoolStatusRequests, as upstream with the feature gate of that name. It needs DRAResourcePoolStatus.
	DRAPartitionableDevicesType bool
	// APIServerIdentity keeps a Lease of the API server in kube-system (KEP-1965), as upstream with the feature gate of
	// that name, also where the process does not share its etcd.
	APIServerIdentity bool
	// StorageVersionAPI serves StorageVersion of internal.apiserver.k8s.io/v1alpha1, reports in these objects how
	// the API server stores others, and runs the storageversion-garbage-collector-controller (KEP-2339), as upstream
	// with the feature gate of that name and --runtime-config=internal.apiserver.k8s.io/v1alpha1=true. It implies
	// APIServerIdentity.
	StorageVersionAPI bool
	// NoWait makes Start return before the nodes are Ready.
	NoWait bool
	// CompactionInterval is the time of the cluster's clock between compactions of the
	// store. 0 means five minutes, negative never.
	CompactionInterval time.Duration
	// History is what compactions keep; the zero value is the revisions of the last interval.
	History History
	// Fork describes the cluster, in its Info, as a fork of another one; nil if it is none.
	Fork   *ForkInfo
	Logger klog.Logger
	// Notices gets what the operator of the cluster has to know while it runs: that memory is
	// short, that a configuration file could not be loaded again, that a component lacks a
	// permission. The zero Logger means Logger.
	Notices klog.Logger
	// Starting, if not nil, is called while Start waits for the nodes, with the number of those that are
	// ready and that of all.
	Starting func(ready, nodes int)
}

// DefaultClockStart is the default start of virtual time: midnight UTC on a Monday, which
// makes schedules easy to calculate.
var DefaultClockStart = time.Date(2026, time.January, 5, 0, 0, 0, 0, time.UTC)

// etcdDialTimeout is the default limit for connecting to an external etcd.
const etcdDialTimeout = 5 * time.Second

// Validate returns an error for options that cannot work together. Start calls it before
// it starts anything.
func (o *Options) Validate() error {
	if o.DataDir != "" && len(o.Etcd.Endpoints) > 0 {
		return fmt.Errorf("a data directory (%s) and an external etcd were both given: choose one", o.DataDir)
	}
	if o.Identity != nil && o.DataDir != "" {
		return fmt.Errorf("an identity and a data directory (%s), which has its own, were both given: choose one", o.DataDir)
	}
	if o.Snapshot != "" && (o.DataDir != "" || len(o.Etcd.Endpoints) > 0) {
		return fmt.Errorf("only a cluster of its own begins with a snapshot (%s), none with a data directory or an external etcd: restore the snapshot to it first", o.Snapshot)
	}
	if err := errors.Join(o.validateObjects(), o.History.validate()); err != nil {
		return err
	}
	if o.Port < 0 || o.Port > 65535 {
		return fmt.Errorf("port %d is not between 0 and 65535", o.Port)
	}
	if o.BindAddress != "" && net.ParseIP(o.BindAddress) == nil {
		return fmt.Errorf("bind address %q is not an IP address", o.BindAddress)
	}
	if _, err := o.network(); err != nil {
		return err
	}
	if _, _, err := o.ServingCertificate.read(); err != nil {
		return err
	}
	if _, _, err := o.ServiceAccountTokens.read(); err != nil {
		return err
	}
	if o.ReloadEncryptionConfig && o.EncryptionConfig == "" {
		return errors.New("--encryption-provider-config-automatic-reload must be set with --encryption-provider-config")
	}
	if err := o.Audit.Validate(); err != nil {
		return err
	}
	if err := o.admission().Check(); err != nil {
		return err
	}
	if err := o.validateAuthorization(); err != nil {
		return err
	}
	if err := o.Authentication.Validate(); err != nil {
		return err
	}
	switch o.ClockMode {
	case "", clock.ModeReal:
	case clock.ModeVirtual:
		if err := o.validatePace(); err != nil {
			return err
		}
	case clock.ModeScaled:
		if !(o.ClockFactor > 0) || math.IsInf(o.ClockFactor, 1) { // not a number is neither
			return fmt.Errorf("a scaled clock needs a factor above 0, not %v", o.ClockFactor)
		}
	default:
		return fmt.Errorf("clock %q is none of %s, %s, %s", o.ClockMode, clock.ModeReal, clock.ModeScaled, clock.ModeVirtual)
	}
	if err := o.ValidateServing(); err != nil {
		return err
	}
	return o.validateParts()
}

// validateParts returns an error for options of the controllers, the scheduler and the nodes.
func (o *Options) validateParts() error {
	if _, err := o.selectedControllers(); err != nil {
		return err
	}
	if _, err := o.schedulerOptions(); err != nil {
		return err
	}
	if o.LeaderElection && o.shares() {
		return errors.New("processes on one etcd divide the controllers and the scheduler among them, and elect no leaders: leave out the leader election")
	}
	if err := validateExtensions(o.Extensions); err != nil {
		return err
	}
	if err := CheckNodes(max(o.Nodes, 0), o.Node, o.Pools); err != nil {
		return err
	}
	if err := controllers.CheckCloudProvider(o.CloudProvider); err != nil {
		return err
	}
	if err := o.PodNetworks.check(o.declaredNodes()); err != nil {
		return err
	}
	return o.ManageNodes.Validate()
}

// inCloud reports whether the nodes are in the simulated cloud.
func (o *Options) inCloud() bool { return o.CloudProvider == simulatedcloud.Provider }

// admission returns the options of the admission plugins.
func (o *Options) admission() apiserver.AdmissionOptions {
	options := apiserver.AdmissionOptions{Enable: o.EnableAdmissionPlugins, Disable: o.DisableAdmissionPlugins, ConfigFile: o.AdmissionConfigFile}
	const taints = "TaintNodesByCondition"
	selected, err := o.selectedControllers()
	if err == nil && !slices.Contains(selected, controllers.NodeLifecycle) && !slices.Contains(options.Enable, taints) {
		options.Disable = append(slices.Clone(options.Disable), taints)
	}
	return options
}

// selectedControllers returns the names of the controllers that run.
func (o *Options) selectedControllers() ([]string, error) {
	return controllers.ParseSelection(strings.Join(o.Controllers, ","), o.gates())
}

func (o *Options) validateAuthorization() error {
	if o.AuthorizationConfig != "" {
		if len(o.AuthorizationModes) > 0 || o.AuthorizationWebhook != (AuthorizationWebhook{}) {
			return errors.New("--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined")
		}
		_, err := apiserver.ReadAuthorizationConfig(o.AuthorizationConfig)
		return err
	}
	if err := apiserver.CheckAuthorizationModes(o.AuthorizationModes); err != nil {
		return err
	}
	asked := slices.Contains(o.AuthorizationModes, apiserver.AuthorizeWebhook)
	switch configured := o.AuthorizationWebhook.ConfigFile != ""; {
	case asked && !configured:
		return errors.New("authorization-mode Webhook's authorization config file not passed")
	case configured && !asked:
		return errors.New("cannot specify --authorization-webhook-config-file without mode Webhook")
	}
	return o.AuthorizationWebhook.Validate()
}

// schedulerOptions reads the configuration of the scheduler.
func (o *Options) schedulerOptions() (controllers.SchedulerOptions, error) {
	opts := controllers.SchedulerOptions{PodGroups: o.gates().Enabled(featuregates.GenericWorkload)}
	if o.SchedulerConfig == "" {
		return opts, nil
	}
	if o.NoScheduler {
		return opts, fmt.Errorf("a configuration of the scheduler (%s) was given, but no scheduler runs: leave out one of them", o.SchedulerConfig)
	}
	var err error
	opts.Config, err = controllers.ReadSchedulerConfig(o.SchedulerConfig)
	return opts, err
}

// containerStop is the default of Latencies.ContainerStop: a client that deletes a pod and
// reads it at once finds it terminating, as in any cluster.
const containerStop = 50 * time.Millisecond

func (o *Options) complete() {
	switch {
	case o.Nodes == 0:
		o.Nodes = 1
	case o.Nodes < 0:
		o.Nodes = 0
	}
	if o.Notices.GetSink() == nil {
		o.Notices = o.Logger
	}
	if o.ClockStart.IsZero() {
		o.ClockStart = DefaultClockStart
	}
	o.Latencies.ContainerStop = max(cmp.Or(o.Latencies.ContainerStop, containerStop), 0)
	if o.Seed == 0 {
		o.Seed = clock.NewSeed()
	}
	if o.Etcd.DialTimeout == 0 {
		o.Etcd.DialTimeout = etcdDialTimeout
	}
	if len(o.Controllers) == 0 {
		o.Controllers = []string{"*"}
	}
}
