package kubeletsim

import (
	"context"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/events"
	"minikcm.dev/minikcm/internal/heartbeats"
	"minikcm.dev/minikcm/internal/network/secure"
	"minikcm.dev/minikcm/internal/objectclient"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// Component is the name of the simulated kubelets as an API client and in events.
const Component = "kubelet"

// Options configure Kubelets.
type Options struct {
	// Config is for the API server. Client, if not nil, is used instead.
	Config *rest.Config
	Client kubernetes.Interface
	// AsNode returns the context of the requests that the kubelet of a node makes; the others
	// are made as the user of Config. Nil: all are.
	AsNode func(ctx context.Context, node string) context.Context
	// MayRegister reports whether a kubelet may create a Node, and otherwise the user of Config
	// does. Nil: it may.
	MayRegister func(node *corev1.Node) bool
	// ConfigOf returns the configuration of a client with the permissions of a pod's service
	// account. Nil: the program minikcm-certgen of containers fails.
	ConfigOf func(pod *corev1.Pod) *rest.Config
	// APIServer answers the requests of programs in containers to the API server, with the credentials that they send, and
	// APICertificate returns the certificate that it presents. Nil: its answers are unknown.
	APIServer      http.RoundTripper
	APICertificate secure.Source
	// Informers deliver pods and nodes. The caller starts the factory after New. Nil: Kubelets
	// run their own.
	Informers informers.Kinds
	// Clock defaults to the real clock.
	Clock clock.Clock
	// Ledger counts work that is due; nil: it is not counted.
	Ledger *clock.Ledger
	// Random spreads the heartbeats of many nodes; nil: all are renewed at once.
	Random *clock.Random
	// Gather is the grid of the heartbeats that Random spreads: those within it are sent at once, so
	// that the store writes them together. 0: each is sent at its own time.
	Gather time.Duration
	// Heartbeats are written when they are observed; nil: always.
	Heartbeats *heartbeats.Elision
	// Recorder records events; the caller runs it. Nil: events are dropped.
	Recorder *events.Recorder
	// Seed determines the noise of loads in metrics of containers.
	Seed   uint64
	Logger klog.Logger

	// Nodes is the initial number of nodes, named node-0 and so on, with the spec Node. Pools
	// are added to them.
	Nodes int
	Node  nodes.Spec
	Pools []nodes.Pool
	// ManageNodes selects which Nodes created by clients are simulated. Default ManageMarked.
	ManageNodes nodes.ManagePolicy
	// ShardOf, if not nil, divides the nodes into shards: several processes simulate the nodes of
	// one cluster together, and each runs the shards that Gain gives it. The nodes of the options
	// are then created in the API, and StartAssigning makes one process assign the addresses of
	// all nodes.
	ShardOf func(node string) int
	// AwaitPodCIDRs makes nodes wait until a controller has set the spec.podCIDR of their Nodes.
	// Otherwise the kubelets set it themselves.
	AwaitPodCIDRs bool
	// Families are the IP families of the nodes and pods, the first one first. Default IPv4.
	Families nodes.Families
	// Cloud is a client of the simulated cloud, in which each node has an instance. Nil: there is no
	// cloud.
	Cloud kubernetes.Interface
	// ImageCatalog has profiles for images that no ConfigMap describes; see ImageCatalog.
	ImageCatalog string
	// KubeletVersion is the version that the nodes report. Default v1.37.2.
	KubeletVersion string
	// Version is the version of the simulated container runtime. Default "dev".
	Version string

	// Observe is for a cluster that begins with the state of another: pods that have a status when
	// they are first seen, and Nodes that are not Ready or under pressure, go on as they are, and so
	// do the pods that replace them, as far as the cause lies in their template or image.
	Observe bool

	Latencies lifecycle.Latencies
	Backoff   lifecycle.Backoff
	// Workers bounds the pods that are synced at a time, and the nodes. Default 16 of each.
	Workers int
}

func (o *Options) complete() error {
	if o.Client == nil {
		if o.Config == nil {
			return fmt.Errorf("making the kubelets' client: neither a client nor a config was given")
		}
		config := rest.CopyConfig(o.Config)
		config.UserAgent = "minikcm/" + Component
		config.Wrap(cause.Wrap)
		client, err := objectclient.NewForConfig(config)
		if err != nil {
			return fmt.Errorf("making the kubelets' client: %w", err)
		}
		o.Client = client
	}
	if o.ManageNodes == "" {
		o.ManageNodes = nodes.ManageMarked
	}
	if o.Clock == nil {
		o.Clock = clock.Real()
	}
	if o.Workers <= 0 {
		o.Workers = 16
	}
	if o.KubeletVersion == "" {
		o.KubeletVersion = "v1.37.2"
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Latencies.JobRun == 0 {
		o.Latencies.JobRun = time.Second
	}
	o.Backoff.SetDefaults()
	return nil
}

// ownInformers returns informers for Kubelets that share none.
func (o *Options) ownInformers() (informers.Kinds, error) {
	if o.Config == nil {
		return informers.KindsOf(o.Client, o.Ledger), nil
	}
	config := rest.CopyConfig(o.Config)
	config.UserAgent = "minikcm/" + Component
	return informers.KindsFor(config, o.Ledger)
}

func (o *Options) versions() nodes.Versions {
	return nodes.Versions{Kubelet: o.KubeletVersion, Runtime: o.Version}
}

func (o *Options) newTable() *nodes.Table {
	table := nodes.NewTable()
	if o.AwaitPodCIDRs {
		table = nodes.NewAwaitingTable()
	}
	table.Speak(o.Families)
	if o.Cloud != nil {
		table.InCloud()
	}
	return table
}
