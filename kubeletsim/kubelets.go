package kubeletsim

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/kwok"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/containers"
	"minikcm.dev/minikcm/kubeletsim/internal/fabric"
	"minikcm.dev/minikcm/kubeletsim/internal/images"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// Kubelets are the kubelets of all simulated nodes of one cluster. Create it with New, then
// call Run once. Its other methods may be called concurrently at any time.
type Kubelets struct {
	opts  Options
	loop  loops
	due   inflight.Alarms[key]
	pods  *podTable
	nodes *nodes.Table
	// shards are the nodes that this process simulates; nil means all.
	shards   *shards
	assigner assigner
	// imageErrors are the images whose pulls fail.
	imageErrors images.PullErrors
	// observing is Options.Observe; without it, observations are empty.
	observing    atomic.Bool
	observations observations

	podInformer  cache.SharedIndexInformer
	nodeInformer cache.SharedIndexInformer
	podLister    corev1listers.PodLister
	nodeLister   corev1listers.NodeLister
	// linking lets one fault at a time decide which nodes are cut off from the API server.
	linking sync.Mutex
	// configMapLister has all ConfigMaps: any of them may declare a profile of images.
	configMapLister corev1listers.ConfigMapLister
	informers       informers.Kinds
	supplies        supplies
	makers          makers
	attaching       attaching
	certificates    certificateWatch
	// images are the profiles that ConfigMaps declare.
	images images.Profiles
	// registry knows which images exist.
	registry images.Registry
	// statics are the static pods that ConfigMaps declare.
	statics statics
	// containers are the containers of all pods. Run waits for their goroutines.
	containers *containers.Runtime
	// fabric is the network that the programs in containers reach.
	fabric *fabric.Fabric
	// ended is closed when Run ends.
	ended <-chan struct{}

	mu       sync.Mutex
	handlers []handler
	// begun is closed once Run manages the nodes, or has ended.
	begun     chan struct{}
	beginOnce sync.Once
	// cpuMeters count the CPU that containers use.
	cpuMeters cpuMeters
	staging   staging
	// rules are the usages, and metrics the Metrics that kwok's objects declare.
	rules   atomic.Pointer[ruleSet]
	metrics atomic.Pointer[kwok.Metrics]
}

type handler struct {
	informer     cache.SharedIndexInformer
	registration cache.ResourceEventHandlerRegistration
}

// New returns kubelets with the given options. It registers no node before Run. It fails
// without a Config or Client.
func New(opts Options) (*Kubelets, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	k := &Kubelets{opts: opts, begun: make(chan struct{}), nodes: opts.newTable(), shards: newShards(opts.ShardOf)}
	if opts.Observe {
		k.Observe()
	}
	catalog, err := images.NewCatalog(opts.ImageCatalog)
	if err != nil {
		return nil, fmt.Errorf("reading the catalog of images: %w", err)
	}
	k.images.UseCatalog(catalog)
	k.pods = newPodTable(&k.images, k.queuePod)
	k.loop = newLoops(loop.TypedOptions[key]{
		Name: Component, KeyName: func(k key) string { return k.id }, Kind: inflight.Action, Workers: opts.Workers,
		Clock: opts.Clock, Ledger: opts.Ledger, Logger: opts.Logger, Settled: k.settled, BaseDelay: firstRetry, MaxDelay: lastRetry,
	}, loop.TypedFunc[key](k.sync))
	k.due = inflight.NewAlarms(opts.Clock, func(due key) { k.loop.Add(due) })
	k.informers = opts.Informers
	if k.informers == nil {
		own, err := opts.ownInformers()
		if err != nil {
			return nil, err
		}
		k.informers = own
	}
	k.fabric = k.newFabric()
	k.containers = k.newContainers()
	pods, nodes := k.informers.Pods(), k.informers.Nodes()
	k.podInformer, k.podLister = pods.Informer(), pods.Lister()
	k.nodeInformer, k.nodeLister = nodes.Informer(), nodes.Lister()
	if err := k.handle(k.podInformer, k.observePod, k.losePod); err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	if err := k.handle(k.nodeInformer, k.observeNode, k.loseNode); err != nil {
		return nil, fmt.Errorf("watching nodes: %w", err)
	}
	configMaps := k.informers.ConfigMaps()
	k.configMapLister = configMaps.Lister()
	if err := k.handle(configMaps.Informer(), k.observeConfigMap, k.loseConfigMap); err != nil {
		return nil, fmt.Errorf("watching ConfigMaps for image profiles and static pods: %w", err)
	}
	return k, nil
}

// ownsInformers reports whether Run starts and ends the informers: nothing else shares them.
func (k *Kubelets) ownsInformers() bool { return k.opts.Informers == nil }

// handle registers seen for adds and updates of an object, and lost for its deletion.
func (k *Kubelets) handle(informer cache.SharedIndexInformer, seen, lost func(obj any)) error {
	_, err := k.attend(informer, seen, lost)
	return err
}

// attend is handle, and returns the registration.
func (k *Kubelets) attend(informer cache.SharedIndexInformer, seen, lost func(obj any)) (cache.ResourceEventHandlerRegistration, error) {
	funcs := cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
		if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		lost(obj)
	}}
	funcs.AddFunc = seen
	funcs.UpdateFunc = func(_, obj any) { seen(obj) }
	registration, err := informer.AddEventHandler(funcs)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.handlers = append(k.handlers, handler{informer, registration})
	return registration, nil
}

// Run registers the nodes and runs the pods bound to them until ctx ends. It returns nil after
// ctx and everything that Run started have ended. Nodes and pods stay in the API as they are.
func (k *Kubelets) Run(ctx context.Context) error {
	defer k.begin()
	defer k.stop()
	k.ended = ctx.Done()
	k.containers.Serve(k.ended)
	if k.ownsInformers() {
		k.informers.Start(ctx.Done())
	}
	if !k.waitForSync(ctx) {
		return nil
	}
	if err := k.makeNodes(ctx); err != nil {
		return err
	}
	k.begin()
	if err := k.loop.Run(ctx); err != nil {
		return err
	}
	k.containers.Close()
	return nil
}

// Begun returns a channel that is closed once Run manages the nodes, or has ended. From then on
// the ledger counts all work of the kubelets; before, it does not count nodes that are to be
// registered.
func (k *Kubelets) Begun() <-chan struct{} { return k.begun }

func (k *Kubelets) begin() { k.beginOnce.Do(func() { close(k.begun) }) }

func (k *Kubelets) waitForSync(ctx context.Context) bool {
	var synced []cache.DoneChecker
	for _, h := range k.handlers {
		synced = append(synced, h.registration.HasSyncedChecker())
	}
	return cache.WaitFor(klog.NewContext(ctx, k.opts.Logger.V(4)), Component, synced...)
}

// makeNodes makes the nodes of the options, in this process or in the API for all processes.
func (k *Kubelets) makeNodes(ctx context.Context) error {
	if k.shards == nil {
		return k.takeOver()
	}
	if err := k.declare(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// takeOver first adds the nodes that an earlier process or a client left in the API, then the
// nodes of the options, so that addresses in use are allocated before new ones are assigned.
func (k *Kubelets) takeOver() error {
	existing, err := k.nodeLister.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	if err := k.nodes.TakeOver(existing, nodes.Specs(k.opts.Nodes, k.opts.Node, k.opts.Pools), k.manages); err != nil {
		return fmt.Errorf("making nodes: %w", err)
	}
	for _, name := range k.nodes.Names() {
		k.settle(k.nodes.Get(name))
		k.loop.Add(nodeKey(name))
	}
	return nil
}

// sync reconciles a key. The loop repeats what fails.
func (k *Kubelets) sync(ctx context.Context, key key) (loop.Result, error) {
	defer k.markChangedBy(key)
	return loop.Result{}, k.syncKind(ctx, key)
}

func (k *Kubelets) syncKind(ctx context.Context, key key) error {
	switch key.kind {
	case ofAssignment:
		return k.syncAssignment(ctx, key)
	case ofStatic:
		k.syncStatic(ctx, key)
		return nil
	case ofPressure:
		if k.shards.owns(key.id) {
			k.syncPressure(key)
		}
		return nil
	}
	ctx, owned := k.enter(ctx, key)
	switch {
	case !owned:
		return nil
	case key.kind == ofNode:
		return k.syncNode(ctx, key)
	case key.kind == ofLease:
		k.syncLease(ctx, key)
		return nil
	}
	return k.syncPod(ctx, key)
}

// settled reports whether the last sync of a pod has seen the current state, so that another one may be
// skipped.
func (k *Kubelets) settled(key key) bool {
	if key.kind != ofPod {
		return false
	}
	e := k.pods.get(types.UID(key.id))
	return e != nil && !e.stale.Load() && k.shards.owns(e.node) && e.upToDate(k.opts.Clock.Now())
}

func (k *Kubelets) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, h := range k.handlers {
		// If the informer has stopped already, there is nothing to remove.
		_ = h.informer.RemoveEventHandler(h.registration)
	}
	k.loop.Close()
	k.due.Close()
	if k.ownsInformers() {
		k.informers.Shutdown()
	}
}

func (k *Kubelets) observePod(obj any) {
	pod, ok := obj.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return
	}
	k.observeHealth(pod)
	if k.pods.observe(pod) {
		k.offer(pod)
	}
	if podspec.IsMirror(pod) {
		k.loop.Add(staticKey(pod.Spec.NodeName))
	}
}

// offer queues a pod of which there is news, if this process simulates its node.
func (k *Kubelets) offer(pod *corev1.Pod) {
	if k.shards.owns(pod.Spec.NodeName) {
		k.loop.Offer(podKey(string(pod.UID)))
	}
}

func (k *Kubelets) losePod(obj any) {
	if pod, ok := obj.(*corev1.Pod); ok && k.pods.lose(pod) {
		k.observations.leave(pod.UID)
		k.loop.Add(podKey(string(pod.UID)))
	}
}
