package stagerunner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/events"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/stages"
	"minikcm.dev/minikcm/kubeletsim/internal/kwokwatch"
)

// Name is the runner's name as an API client, in events and in the order of turns.
const Name = "stages"

// workers is the number of objects whose Stages are played at a time.
const workers = 8

// Hosts are the simulated nodes.
type Hosts interface {
	// SetStages passes on the Stages that have effect from now on.
	SetStages(set *stages.Set)
	// Acts reports whether a node is simulated and can act now.
	Acts(node string) bool
	// TakePod and TakeNode end the built-in simulation of a pod or a node: Stages write its
	// status from now on.
	TakePod(pod *corev1.Pod)
	TakeNode(node string)
	// NodeAddresses returns the addresses of a node. PodAddresses returns the addresses of a pod,
	// and allocates them from the node's range if the pod has none.
	NodeAddresses(node string) []string
	PodAddresses(node string, uid types.UID) ([]string, error)
}

// Options configure a Runner. All fields but Recorder, Ledger and Version are needed.
type Options struct {
	// Config is for the API server, with the permissions that Stages need.
	Config *rest.Config
	// Nodes is the shared informer of Nodes.
	Nodes    cache.SharedIndexInformer
	Hosts    Hosts
	Clock    clock.Clock
	Ledger   *clock.Ledger
	Random   *clock.Random
	Recorder *events.Recorder
	Logger   klog.Logger
	// Version is the result of the templates' function Version.
	Version string
}

// Runner plays Stages. Run it once.
type Runner struct {
	opts      Options
	start     time.Time
	client    dynamic.Interface
	discovery discovery.DiscoveryInterface
	users     users
	objects   loop.Typed[key]
	sources   *kwokwatch.Sources
	parsed    *kwokwatch.Parsed[*stages.Stage]
	set       atomic.Pointer[stages.Set]

	mu      sync.Mutex
	kinds   map[schema.GroupVersionKind]*kwokwatch.Watched
	jobs    map[key]*job
	waiting map[string]map[key]bool // by node
}

// key is an object.
type key struct {
	kind schema.GroupVersionKind
	name types.NamespacedName
}

func (k key) String() string { return k.kind.Kind + " " + k.name.String() }

// New returns a runner. It makes no request before Run.
func New(opts Options) (*Runner, error) {
	opts.Config = rest.CopyConfig(opts.Config)
	opts.Config.UserAgent = "minikcm/" + Name
	opts.Config.Wrap(cause.Wrap)
	// The ledger counts the events that the informers receive.
	informers.Wrap(opts.Config)
	client, err := dynamic.NewForConfig(opts.Config)
	if err != nil {
		return nil, fmt.Errorf("making the client of %s: %w", Name, err)
	}
	discovering, err := discovery.NewDiscoveryClientForConfig(opts.Config)
	if err != nil {
		return nil, fmt.Errorf("making the discovery client of %s: %w", Name, err)
	}
	r := &Runner{
		opts: opts, start: opts.Clock.Now(), client: client, discovery: discovering, users: users{config: opts.Config},
		kinds: map[schema.GroupVersionKind]*kwokwatch.Watched{}, jobs: map[key]*job{}, waiting: map[string]map[key]bool{},
		parsed: kwokwatch.NewParsed(stages.Kind, stages.ParseObject),
	}
	r.objects = loop.NewTyped(loop.TypedOptions[key]{
		Name: Name, KeyName: key.String, Workers: workers, Clock: opts.Clock, Ledger: opts.Ledger, Logger: opts.Logger,
		BaseDelay: retryDelay, MaxDelay: maxRetryDelay,
	}, loop.TypedFunc[key](r.play))
	r.sources = kwokwatch.New(
		kwokwatch.Options{Name: Name + "-sources", Client: client, Clock: opts.Clock, Ledger: opts.Ledger, Recorder: opts.Recorder, Logger: opts.Logger},
		kwokwatch.Kind{Name: stages.Kind, Resource: stages.Resource, Read: r.readStages},
	)
	r.objects.Watch(opts.Nodes, func(ev loop.Event) []key { return r.awaiting(ev.Object.GetName()) })
	return r, nil
}

// The back-off of an object whose writes fail.
const (
	retryDelay    = time.Second
	maxRetryDelay = time.Minute
)

// Run plays Stages until ctx ends. It returns after everything that it started has ended.
func (r *Runner) Run(ctx context.Context) error {
	var errs [2]error
	var loops sync.WaitGroup
	loops.Go(func() { errs[0] = r.sources.Run(ctx) })
	errs[1] = r.objects.Run(loop.WithBegun(ctx, func() {})) // it has begun when the sources have
	loops.Wait()
	for _, w := range r.allKinds() {
		w.End()
	}
	r.sources.Wait()
	return errors.Join(errs[:]...)
}

func (r *Runner) allKinds() []*kwokwatch.Watched {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*kwokwatch.Watched
	for _, w := range r.kinds {
		all = append(all, w)
	}
	return all
}

// await records that an object can be played only when its node is simulated.
func (r *Runner) await(node string, k key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting[node] == nil {
		r.waiting[node] = map[key]bool{}
	}
	r.waiting[node][k] = true
}

// awaiting returns the objects that waited for a node.
func (r *Runner) awaiting(node string) []key {
	r.mu.Lock()
	defer r.mu.Unlock()
	var keys []key
	for k := range r.waiting[node] {
		keys = append(keys, k)
	}
	delete(r.waiting, node)
	return keys
}

// stopAwaiting takes back await.
func (r *Runner) stopAwaiting(node string, k key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.waiting[node], k); len(r.waiting[node]) == 0 {
		delete(r.waiting, node)
	}
}
