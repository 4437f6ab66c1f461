package minikcm

import (
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/assembly/bootstrap"
	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/kwok"
	"minikcm.dev/minikcm/store"
)

// Options configure a cluster. The zero value is an ephemeral cluster of one node on real time,
// reachable over HTTPS on a free port of the loopback interface.
type Options struct {
	Nodes       NodeOptions
	Clock       ClockOptions
	Storage     StorageOptions
	Sharing     SharingOptions
	API         APIOptions
	Security    SecurityOptions
	Controllers ControllerOptions
	Faults      FaultOptions

	// FeatureGates turns features of the release on or off by the names of their gates. Some serve
	// kinds only if APIOptions.RuntimeConfig turns their version on, as upstream; Options.EnableFeature
	// does both.
	FeatureGates map[string]bool
	// Seed determines names, UIDs and all other random choices; 0 means a new seed.
	Seed uint64
	// NoWait makes Start return before the nodes are Ready.
	NoWait bool
	// Progress, if not nil, is called while Start waits for the nodes, with the number of nodes that are
	// ready and the number of all nodes.
	Progress func(ready, nodes int)
	// Fork says of which cluster this one is a fork, for Info; nil: it is none.
	Fork   *ForkInfo
	Logger klog.Logger
	// Notices gets what the operator of the cluster has to know while it runs: that memory is
	// short, that a configuration file could not be loaded again, that a component lacks a
	// permission. The zero Logger means Logger.
	Notices klog.Logger
}

// NodeOptions describe the simulated nodes and what runs on them.
type NodeOptions struct {
	// Count is the number of nodes like Spec; 0 means 1, negative means none. Pools are further groups of nodes.
	Count int
	Spec  NodeSpec
	Pools []Pool
	// Manage selects which Nodes that clients create through the API are simulated: those that
	// are marked (the default), all, or none.
	Manage ManageNodes
	// PodNetworks are the networks of the pods' addresses.
	PodNetworks PodNetworks
	// Cloud is the cloud in which the nodes are: "simulated", or empty for none. In the simulated cloud,
	// each simulated node has an instance, a ConfigMap in the namespace minikcm-cloud, and with
	// PodNetworks.Allocate routes to its networks.
	Cloud string
	// Latencies are the delays of pods. ContainerStop defaults to 50 ms, so that clients can
	// observe pods that terminate; negative means no delay.
	Latencies Latencies
	// Stages are kwok's Stages that have effect.
	Stages Stages
	// Registry, if not empty, lists the images that exist: references, one a line, in which * matches any text.
	// No other image can be pulled. It becomes a ConfigMap with the label minikcm.dev/registry in kube-system.
	Registry string
	// ImageCatalog has profiles for images that no ConfigMap describes: empty is the built-in catalog, none has no profile, and
	// any other text is YAML with ConfigMaps, as minikcm up --image-catalog reads it.
	ImageCatalog string
}

// ClockOptions select the cluster's clock.
type ClockOptions struct {
	// Mode is real (the default), scaled or virtual.
	Mode clock.Mode
	// Speed is the speed of a scaled clock, as a multiple of real time. A virtual clock runs at
	// that speed once the nodes are Ready, and Cluster.Pacer changes the speed; with 0, its time
	// passes only during a call of Advance, Wait or Until.
	Speed float64
	// Start is the time at which a virtual clock starts; the zero time means DefaultClockStart.
	Start time.Time
	// Driven makes the controllers and nodes of a virtual cluster work only during a call of
	// Advance, Wait or Until, or while a caller waits for the Ledger to be idle. What a caller
	// does between two such calls is complete before they react to it, so that the seed alone
	// determines the order of events.
	Driven bool
}

// StorageOptions configure where the objects are stored, and which ones exist from the beginning.
type StorageOptions struct {
	// DataDir keeps the cluster across restarts, with fsync. Empty: the files are in a
	// temporary directory that Close removes.
	DataDir string
	// Snapshot is the file of an etcd snapshot, taken from minikcm or from any other cluster, whose
	// state an ephemeral cluster starts with. A virtual clock should not start before the time of
	// the snapshot.
	Snapshot string
	// Objects are loaded before the controllers and the nodes start, which take them over as their
	// own (minikcmtest reads them from files). Cluster.Loaded reports the result. Their Nodes are
	// simulated as NodeOptions.Manage says.
	Objects *dump.Dump
	// EncryptionConfig is the file of an apiserver.config.k8s.io/v1 EncryptionConfiguration, which selects
	// the resources that are stored encrypted; empty: none. With ReloadEncryptionConfig, new content of the
	// file takes effect; it must still have the keys of the stored values.
	EncryptionConfig       string
	ReloadEncryptionConfig bool
	// CompactionInterval is the time of the cluster's clock between compactions of the store. 0
	// means five minutes, negative never.
	CompactionInterval time.Duration
	// History says which revisions compactions keep; the zero value: the revisions of the last interval.
	History History
}

// SharingOptions configure which parts of the cluster are shared with other processes.
type SharingOptions struct {
	// Etcd connects to an existing etcd cluster if it names endpoints. Processes on one etcd divide
	// the work among them. Its DialTimeout defaults to 5 s.
	Etcd store.EtcdOptions
	// LeaderElection lets the controllers and the scheduler work only while they hold the leases
	// kube-controller-manager and kube-scheduler in kube-system, as upstream's processes do. One that
	// cannot renew its lease within 10 seconds ends, and starts again as a static pod does. Processes
	// on one etcd elect no leaders.
	LeaderElection bool
}

// APIOptions configure the API server.
type APIOptions struct {
	// NoHTTPS omits the socket: only clients in the process reach the cluster.
	NoHTTPS bool
	// BindAddress is the IP address to listen on; empty means 127.0.0.1. 0.0.0.0 means all
	// IPv4 addresses of the machine, and :: all addresses of both families.
	BindAddress string
	// Port is the port to listen on; 0 means a free one.
	Port int
	// Certificate is the certificate to serve HTTPS with; the zero value means one of the
	// cluster's own authority.
	Certificate ServingCertificate
	// KubeconfigPath is the file to which the administrator's kubeconfig is written, as JSON
	// if its name ends in .json. An existing file is replaced only if minikcm wrote it; Close
	// removes the file. If the path is empty, no file is written.
	KubeconfigPath string
	// AdvertiseAddress is the IP address in the endpoints of the Service kubernetes. Empty:
	// the address listened on or, because Endpoints may not name the loopback interface,
	// the first other address of the machine, or a simulated one.
	AdvertiseAddress string
	// ServiceRanges are the networks of cluster IPs: one, or one of each IP family with the
	// default family first. Empty means 10.96.0.0/16. Nodes and pods have addresses of the same
	// families, unless NodeOptions.PodNetworks says otherwise.
	ServiceRanges []string
	// NodePorts is the range of node ports; empty means 30000-32767.
	NodePorts string
	// LoadBalancers is the network of the IPv4 addresses of Services of type LoadBalancer; empty means 198.18.0.0/15.
	LoadBalancers string

	// Version is the minor release of Kubernetes whose API is served, such as "1.33": its groups, versions,
	// kinds and fields, the defaults of its feature gates, and its version. Controllers, scheduler and nodes
	// always behave as in the newest release. Empty: the newest.
	Version string
	// RuntimeConfig are API versions and resources to serve or not, as kube-apiserver's flag of that name has
	// them: "api/beta=true", "resource.k8s.io/v1beta1=true", "batch/v1/cronjobs=false".
	RuntimeConfig []string
	// NoMetricsAPI leaves out the metrics APIs (metrics.k8s.io and its siblings), which are a server of their
	// own elsewhere.
	NoMetricsAPI bool
	// Extensions serve further paths beneath /minikcm/v1/. Start starts them in this order;
	// Close closes them before anything else.
	Extensions []Extension

	// MaxRequests limits the reads, and MaxMutatingRequests all other requests, that are
	// served over HTTPS at once. Watches and other long-running requests do not count. 0
	// means 400 and 200, negative no limit.
	MaxRequests, MaxMutatingRequests int
	// MemoryLimit is the memory that the process may use, in bytes. Near it, requests that
	// take memory are rejected with 429, including requests of controllers that create objects. 0 means no
	// limit. Go's garbage collector has a limit of its own (GOMEMLIMIT, debug.SetMemoryLimit), which should
	// be the same.
	MemoryLimit uint64
	// RecordedWrites is how many writes the write record keeps, the newest ones; 0 means
	// 100,000. A write takes about 500 bytes. As many kinds of refused requests are kept, at most 2,000.
	RecordedWrites int

	// Gatherer provides metrics of the process, which /metrics serves in addition to the API server's
	// metrics; nil: none.
	Gatherer prometheus.Gatherer
	// Flags are the values of the flags with which a program was started; the API server shows them at
	// /flagz, to users with access to that path.
	Flags map[string]string
}

// SecurityOptions configure identity, authentication, authorization and audit.
type SecurityOptions struct {
	// Identity is the identity of an earlier cluster (Cluster.Identity), which this
	// cluster without a data directory replaces: it accepts the same kubeconfigs, certificates and tokens,
	// and its resource versions are later. Nil: a new identity. On an external etcd, the
	// first process stores its identity; nil then means the stored one, and any other is an
	// error.
	Identity *Identity
	// Authentication configures ways to authenticate besides the cluster's own certificates
	// and tokens.
	Authentication Authentication
	// ServiceAccountTokens configures keys and issuers of the tokens of service accounts.
	ServiceAccountTokens ServiceAccountTokens
	// AuthorizationModes decide in turn whether a user may make a request: Node, RBAC, Webhook, AlwaysAllow
	// or AlwaysDeny; empty means Node and RBAC. Members of the group system:masters may do everything.
	AuthorizationModes []string
	// AuthorizationWebhook configures the webhook of the mode Webhook of AuthorizationModes.
	AuthorizationWebhook AuthorizationWebhook
	// AuthorizationConfig is the path of an AuthorizationConfiguration
	// (apiserver.config.k8s.io/v1), whose authorizers replace AuthorizationModes and
	// AuthorizationWebhook. New content of the file takes effect. Empty: there is none.
	AuthorizationConfig string
	// EnableAdmissionPlugins and DisableAdmissionPlugins change which admission plugins run
	// (docs/admission.md). TaintNodesByCondition only runs with the node-lifecycle-controller, which
	// removes its taint, unless it is enabled here.
	EnableAdmissionPlugins, DisableAdmissionPlugins []string
	// AdmissionConfig is the path of an AdmissionConfiguration, which configures plugins;
	// empty: none is configured.
	AdmissionConfig string
	// IgnoreSimulatedWebhooks skips webhooks and APIServices behind which only simulated pods are: clients get
	// a warning, and the Service an event. Without it, they fail.
	IgnoreSimulatedWebhooks bool
	// Audit records the requests to the API server, including requests of the cluster's own parts; the zero
	// value records nothing. Begin with DefaultAudit.
	Audit Audit
	// Denied is called when a controller or the scheduler of the cluster may not make a request
	// that it made; nil: the log says so. It must not block.
	Denied func(user string, err error)
}

// ControllerOptions select the controllers, and configure the scheduler.
type ControllerOptions struct {
	// Selected selects controllers: "*" means all that are on by default, "name" adds one,
	// "-name" removes one. Empty means "*".
	Selected []string
	// GCIgnored are the resources that the garbage collector does not watch, kube-controller-manager's gcIgnoredResources: their
	// objects are not deleted with their owners. Events always are ignored.
	GCIgnored []schema.GroupResource
	// NoScheduler runs no scheduler: pods stay unassigned unless a client binds them.
	NoScheduler bool
	// SchedulerConfig is the file of a kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration,
	// which is read when the cluster starts; empty: kube-scheduler's default configuration.
	SchedulerConfig string
}

// FaultOptions allow faults that cost something even while there are none.
type FaultOptions struct {
	// API allows faults of the API server: Cluster.APIFaults.
	API bool
	// Store allows faults of the store: Cluster.StoreFaults.
	Store bool
}

// ServingCertificate names the files, in PEM, of the certificate that the API server serves
// HTTPS with.
type ServingCertificate struct {
	// CertFile has the certificate, followed by its intermediate authorities and, if clients
	// are to trust it by the cluster's kubeconfigs, the root authority.
	CertFile string
	KeyFile  string
}

// ServiceAccountTokens configures the tokens of service accounts as kube-apiserver's flags do.
// The zero value means the cluster's own key and auth.DefaultIssuer.
type ServiceAccountTokens struct {
	// SigningKeyFile has the private key, in PEM, that signs tokens (--service-account-signing-key-file).
	SigningKeyFile string
	// KeyFiles have the keys, in PEM, that verify tokens: public or private keys, or
	// certificates (--service-account-key-file). Empty means the signing key.
	KeyFiles []string
	// Issuers are the accepted issuers of bound tokens, of which the first issues the new ones
	// (--service-account-issuer).
	Issuers []string
	// Audiences are the API server's own (--api-audiences); empty means Issuers.
	Audiences []string
}

// DefaultClusterCIDR is PodNetworks.ClusterCIDR by default.
const DefaultClusterCIDR = "10.192.0.0/10"

// PodNetworks are the networks that the addresses of pods are from.
type PodNetworks struct {
	// Allocate makes the node-ipam-controller give each Node its networks, as in a cluster with
	// --allocate-node-cidrs: a node is not ready before it has them. Without it, each simulated
	// kubelet registers with a network of each IP family of Options.API.ServiceRanges, of 10.192.0.0/10
	// and fd00:10::/32, and the fields below must be empty.
	Allocate bool
	// ClusterCIDR is the range of all networks, or one of IPv4 and one of IPv6, separated by a
	// comma. Empty means DefaultClusterCIDR.
	ClusterCIDR string
	// MaskSize is the prefix length of the nodes' networks with one range, IPv4MaskSize and IPv6MaskSize the
	// prefix length of the networks of a family. 0 means 24 for IPv4 and 64 for IPv6.
	MaskSize, IPv4MaskSize, IPv6MaskSize int
}

// Stages configure which of kwok's Stages, ResourceUsages, ClusterResourceUsages and Metrics
// (kwok.x-k8s.io/v1alpha1) have effect. The zero value means none. Processes that share an etcd on
// real time play no Stages.
type Stages struct {
	// Watch makes the objects of these kinds in the API take effect, as soon as their
	// CustomResourceDefinition is installed.
	Watch bool
	// Manifests are written to the API before the nodes start, with a definition if there is none.
	// They imply Watch.
	Manifests []StageManifest
}

// ParseStages returns the objects of these kinds in a file, which has YAML or JSON documents. It fails
// if one of them is invalid, or of another kind.
func ParseStages(file []byte) ([]StageManifest, error) { return kwok.Split(file) }

// ReadStages returns the objects of kwok's kinds in files, and in the files of folders that end in .yaml, .yml or
// .json, for Stages.Manifests. It fails if one of them is invalid, of another kind, or there twice. Errors begin with the path.
func ReadStages(paths []string) ([]StageManifest, error) { return bootstrap.ReadStages(paths) }

// History is how much of the store's history is kept, so that clients can list and watch from
// earlier revisions. At most one of its fields is set. Each revision takes the size of the object
// that it wrote.
type History struct {
	// Duration is the cluster's time whose revisions are kept, and up to five minutes more.
	Duration time.Duration
	// Revisions is the number of the newest revisions that are kept; the revisions of up to five
	// minutes more are there.
	Revisions int64
}

// ParseHistory reads a duration, such as 1h30m, or a number of revisions.
func ParseHistory(text string) (History, error) {
	if revisions, err := strconv.ParseInt(text, 10, 64); err == nil && revisions > 0 {
		return History{Revisions: revisions}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= minHistory {
		return History{Duration: d}, nil
	}
	return History{}, fmt.Errorf("%q is neither a duration of at least %v, such as 1h30m, nor a number of revisions, such as 20000", text, minHistory)
}

// minHistory is the shortest time that can be kept: clients need some of it to resume watches.
const minHistory = 10 * time.Second

// gatedKinds has, for feature gates whose kinds are in a version that is off by default, one of these kinds.
var gatedKinds = map[string]schema.GroupVersionResource{
	featuregates.GenericWorkload:       {Group: "scheduling.k8s.io", Version: "v1beta1", Resource: "podgroups"},
	featuregates.DRAResourcePoolStatus: {Group: "resource.k8s.io", Version: "v1alpha3", Resource: "resourcepoolstatusrequests"},
	featuregates.StorageVersionAPI:     {Group: "internal.apiserver.k8s.io", Version: "v1alpha1", Resource: "storageversions"},
}

// neededGates has, for feature gates that have no effect alone, the gate that they need.
var neededGates = map[string]string{
	featuregates.DRAPartitionableDevicesType: featuregates.DRAResourcePoolStatus,
	featuregates.StorageVersionAPI:           featuregates.APIServerIdentity,
}

// EnableFeature turns on feature gates, the gates that they need, and the API versions of their kinds:
// GenericWorkload, for example, also sets the RuntimeConfig scheduling.k8s.io/v1beta1=true.
func (o *Options) EnableFeature(gates ...string) {
	if o.FeatureGates == nil {
		o.FeatureGates = map[string]bool{}
	}
	for _, gate := range gates {
		o.FeatureGates[gate] = true
		if kind, gated := gatedKinds[gate]; gated {
			o.API.RuntimeConfig = append(o.API.RuntimeConfig, kind.GroupVersion().String()+"=true")
		}
		if needed := neededGates[gate]; needed != "" {
			o.EnableFeature(needed)
		}
	}
}

// DefaultClockStart is the default start of virtual time: midnight UTC on a Monday, which
// makes schedules easy to calculate.
var DefaultClockStart = time.Date(2026, time.January, 5, 0, 0, 0, 0, time.UTC)

// etcdDialTimeout is the default limit for connecting to an external etcd.
const etcdDialTimeout = 5 * time.Second
