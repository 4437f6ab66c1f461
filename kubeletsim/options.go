package kubeletsim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/cause"
	"minikcm.dev/minikcm/clock/events"
	ledgered "minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/kubeletsim/lifecycle"
)

// Component is the name that the simulated kubelets use towards the apiserver
// and in events.
const Component = "kubelet"

// NodeSpec says what a node is like. The zero value is the default node.
type NodeSpec struct {
	// Name is the node's name; AddNode needs it, pools and AddNodes make it.
	Name string
	// Labels, Annotations and Taints are added to those that every node has.
	Labels      map[string]string
	Annotations map[string]string
	Taints      []corev1.Taint
	// Capacity overrides the default per resource: 32 CPUs, 256Gi of memory,
	// 1Ti of ephemeral storage and 250 pods (upstream's kubelet takes 110; 250
	// lets ten nodes hold 2,000 pods, and fits a /24 of addresses).
	Capacity corev1.ResourceList
	// Allocatable defaults to the capacity.
	Allocatable corev1.ResourceList
	// Unschedulable registers the node cordoned.
	Unschedulable bool
}

// Pool is a number of like nodes, named Name-0, Name-1 and so on.
type Pool struct {
	// Name defaults to "node".
	Name  string
	Count int
	Node  NodeSpec
}

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
	Node  NodeSpec
	Pools []Pool
	// ManageNodes says which Nodes are simulated that clients make. Default ManageMarked.
	ManageNodes ManageNodes
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
		o.ManageNodes = ManageMarked
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

// defaultPool is what nodes are named after unless the options say otherwise.
const defaultPool = "node"

// nodeSpecs lists the nodes to begin with, in order.
func (o *Options) nodeSpecs() []NodeSpec {
	var specs []NodeSpec
	for _, pool := range append([]Pool{{Count: o.Nodes, Node: o.Node}}, o.Pools...) {
		name := pool.Name
		if name == "" {
			name = defaultPool
		}
		for i := range pool.Count {
			spec := pool.Node
			spec.Name = fmt.Sprintf("%s-%d", name, i)
			specs = append(specs, spec)
		}
	}
	return specs
}

// NodeNames are the names of the nodes that Options with so many nodes and these pools begin
// with, in order.
func NodeNames(nodes int, pools []Pool) []string {
	opts := Options{Nodes: nodes, Pools: pools}
	specs := opts.nodeSpecs()
	names := make([]string, len(specs))
	for i := range specs {
		names[i] = specs[i].Name
	}
	return names
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

func (s *NodeSpec) capacity() corev1.ResourceList {
	capacity := defaultCapacity()
	for name, quantity := range s.Capacity {
		capacity[name] = quantity
	}
	return capacity
}

func (s *NodeSpec) allocatable() corev1.ResourceList {
	allocatable := s.capacity()
	for name, quantity := range s.Allocatable {
		allocatable[name] = quantity
	}
	return allocatable
}
