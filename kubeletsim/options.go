package kubeletsim

import (
	"fmt"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/cause"
	"minikcm.dev/minikcm/clock/events"
	ledgered "minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/kubeletsim/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/nodes"
)

// Component is the name that the simulated kubelets use towards the apiserver
// and in events.
const Component = "kubelet"

// Options configure a Kubelet.
type Options struct {
	// Config reaches the apiserver; Client, if not nil, is used instead.
	Config *rest.Config
	Client kubernetes.Interface
	// Informers deliver pods and nodes; whoever made the factory starts it after
	// New. Nil: the Kubelet has its own.
	Informers informers.SharedInformerFactory
	// Clock; nil: the machine's.
	Clock clock.Clock
	// Ledger is told of actions that are due; nil: nobody is.
	Ledger *clock.Ledger
	// Random spreads the heartbeats of many nodes; nil: all are renewed at once.
	Random *clock.Random
	// Recorder takes events, whoever made it runs it; nil: nobody does.
	Recorder *events.Recorder
	Logger   klog.Logger

	// Nodes is the number of nodes to begin with, named node-0 and so on, made like
	// Node. Pools come in addition.
	Nodes int
	Node  nodes.Spec
	Pools []nodes.Pool
	// ManageNodes says which Nodes are simulated that clients make. Default ManageMarked.
	ManageNodes nodes.ManagePolicy
	// KubeletVersion is what the nodes say they run. Default v1.37.2.
	KubeletVersion string
	// Version is that of the simulated container runtime. Default "dev".
	Version string

	Latencies lifecycle.Latencies
	Backoff   lifecycle.Backoff
	// Workers bounds the API calls in flight. Default 16.
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
		client, err := kubernetes.NewForConfig(config)
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

// ownInformers are for when none were given.
func (o *Options) ownInformers() (*ledgered.Factory, error) {
	if o.Config == nil {
		return ledgered.New(o.Client, o.Ledger), nil
	}
	config := rest.CopyConfig(o.Config)
	config.UserAgent = "minikcm/" + Component
	return ledgered.NewForConfig(config, o.Ledger)
}

func (o *Options) versions() nodes.Versions {
	return nodes.Versions{Kubelet: o.KubeletVersion, Runtime: o.Version}
}
