package kubeletsim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/cause"
	"minikcm.dev/minikcm/clock/events"
)

// Component is the name that the simulated kubelets use towards the apiserver
// and in events.
const Component = "kubelet"

// KubeletVersion is what the nodes say they run.
const KubeletVersion = "v1.37.2"

// NodeSpec says what a node is like. The zero value is the default node.
type NodeSpec struct {
	// Name is the node's name; AddNode needs it, pools make it.
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

// Latencies are how long the simulated machine takes, on the cluster's clock.
type Latencies struct {
	// PodStart is from a pod's admission until its sandbox is up and its first
	// containers run. Default 10ms.
	PodStart time.Duration
	// ContainerRestart is from a container's end until it is started again or
	// seen to be in back-off. Default 10ms.
	ContainerRestart time.Duration
	// ContainerStop is from the signal to stop until the container has ended, but
	// never longer than the grace period. Default 10ms.
	ContainerStop time.Duration
	// InitRun is how long an init container runs. Default 10ms.
	InitRun time.Duration
	// JobRun is how long the containers of a pod that a Job controls run, unless
	// the pod says so itself. Default 1s. Other containers run until stopped.
	JobRun time.Duration
}

// Options configure an Engine.
type Options struct {
	// Config makes the client when Client is nil.
	Config *rest.Config
	Client kubernetes.Interface
	// Informers must deliver pods and nodes; whoever made the factory starts it
	// after New. The engine itself starts what it comes to need later.
	Informers informers.SharedInformerFactory
	Clock     clock.Clock
	Ledger    *clock.Ledger
	Random    *clock.Random
	// Recorder takes events; nil reports none.
	Recorder *events.Recorder
	Logger   klog.Logger

	// Nodes is the number of default nodes, named node-0 and so on, made like
	// Node. Pools come in addition.
	Nodes int
	Node  NodeSpec
	Pools []Pool

	Latencies Latencies
	// Workers bounds the API calls in flight. Default 32.
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
	if o.Informers == nil {
		return fmt.Errorf("making the kubelets: no informers were given")
	}
	if o.Clock == nil {
		o.Clock = clock.Real()
	}
	if o.Random == nil {
		o.Random = clock.NewRandom(clock.NewSeed())
	}
	if o.Workers <= 0 {
		o.Workers = 32
	}
	o.Latencies.complete()
	return nil
}

func (l *Latencies) complete() {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&l.PodStart, 10 * time.Millisecond},
		{&l.ContainerRestart, 10 * time.Millisecond},
		{&l.ContainerStop, 10 * time.Millisecond},
		{&l.InitRun, 10 * time.Millisecond},
		{&l.JobRun, time.Second},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
}

// nodeSpecs lists the nodes to begin with, in order.
func (o *Options) nodeSpecs() []NodeSpec {
	var specs []NodeSpec
	for _, pool := range append([]Pool{{Count: o.Nodes, Node: o.Node}}, o.Pools...) {
		name := pool.Name
		if name == "" {
			name = "node"
		}
		for i := range pool.Count {
			spec := pool.Node
			spec.Name = fmt.Sprintf("%s-%d", name, i)
			specs = append(specs, spec)
		}
	}
	return specs
}

// defaultCapacity is what a node has unless its spec says otherwise.
func defaultCapacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("32"),
		corev1.ResourceMemory:           resource.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("250"),
	}
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
