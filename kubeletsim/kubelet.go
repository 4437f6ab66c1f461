package kubeletsim

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	kubeinformers "k8s.io/client-go/informers"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock/inflight"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/kubeletsim/memfs"
	"minikcm.dev/minikcm/kubeletsim/nodes"
)

// Kubelet is the kubelets of all simulated nodes of one cluster. Make it with New,
// then Run it, once. Its other methods may be called at any time and by anybody.
type Kubelet struct {
	opts  Options
	loop  *loop.Typed[key]
	due   *inflight.Alarms[key]
	pods  *podTable
	nodes *nodes.Table
	// imageErrors says which images cannot be had.
	imageErrors imageErrors

	podInformer  cache.SharedIndexInformer
	nodeInformer cache.SharedIndexInformer
	podLister    corev1listers.PodLister
	nodeLister   corev1listers.NodeLister
	factory      kubeinformers.SharedInformerFactory
	supplies     supplies
	// images is what is told of images.
	images imageBook
	// space and shared are the files of containers and of what outlives pods.
	space  *memfs.Space
	shared sharedVolumes
	// crew are the processes that live as long as Run.
	crew *inflight.Group
	// ended is closed when Run ends.
	ended <-chan struct{}

	mu       sync.Mutex
	handlers []handler
	// begun is closed once Run looks after the nodes, or has ended.
	begun     chan struct{}
	beginOnce sync.Once
	// own is the factory that Run starts and ends; nil if the informers are shared.
	own *informers.Factory
}

type handler struct {
	informer     cache.SharedIndexInformer
	registration cache.ResourceEventHandlerRegistration
}

// New returns the kubelets that the options ask for. It registers no node before
// Run.
func New(opts Options) (*Kubelet, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	k := &Kubelet{opts: opts, begun: make(chan struct{}), nodes: nodes.NewTable()}
	k.pods = newPodTable(&k.images)
	k.loop = loop.New(loop.TypedOptions[key]{
		Name: Component, KeyName: func(k key) string { return k.id }, Kind: inflight.Action, Workers: opts.Workers,
		Clock: opts.Clock, Ledger: opts.Ledger, Logger: opts.Logger, Settled: k.settled,
	}, loop.TypedFunc[key](k.sync))
	k.due = inflight.NewAlarms(opts.Clock, func(due key) { k.loop.Add(due) })
	k.crew = inflight.NewGroup(opts.Ledger, inflight.Action)
	k.space = memfs.NewSpace(opts.Clock.Now, 0)
	factory := opts.Informers
	if factory == nil {
		own, err := opts.ownInformers()
		if err != nil {
			return nil, err
		}
		factory, k.own = own, own
	}
	pods, nodes := factory.Core().V1().Pods(), factory.Core().V1().Nodes()
	k.factory = factory
	k.podInformer, k.podLister = pods.Informer(), pods.Lister()
	k.nodeInformer, k.nodeLister = nodes.Informer(), nodes.Lister()
	if err := k.handle(k.podInformer, k.observePod, k.losePod); err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	if err := k.handle(k.nodeInformer, k.observeNode, k.loseNode); err != nil {
		return nil, fmt.Errorf("watching nodes: %w", err)
	}
	if err := k.handle(factory.Core().V1().ConfigMaps().Informer(), k.observeImages, k.loseImages); err != nil {
		return nil, fmt.Errorf("watching what is told of images: %w", err)
	}
	return k, nil
}

// handle calls seen for every state of an object, and lost when it is gone.
func (k *Kubelet) handle(informer cache.SharedIndexInformer, seen, lost func(obj any)) error {
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
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.handlers = append(k.handlers, handler{informer, registration})
	return nil
}

// Run registers the nodes and runs what is bound to them until ctx ends. It
// returns nil when ctx has ended and all that Run started with it; nodes and pods
// stay in the API as they are.
func (k *Kubelet) Run(ctx context.Context) error {
	defer k.begin()
	defer k.stop()
	k.ended = ctx.Done()
	if k.own != nil {
		k.own.Start(ctx.Done())
	}
	if !k.waitForSync(ctx) {
		return nil
	}
	if err := k.takeOver(); err != nil {
		return err
	}
	k.begin()
	if err := k.loop.Run(ctx); err != nil {
		return err
	}
	k.crew.Close()
	return nil
}

// Begun is closed once Run looks after the nodes, or has ended. From then on the
// ledger counts all that the kubelets have to do; before, it does not know yet that
// there are nodes to register.
func (k *Kubelet) Begun() <-chan struct{} { return k.begun }

func (k *Kubelet) begin() { k.beginOnce.Do(func() { close(k.begun) }) }

func (k *Kubelet) waitForSync(ctx context.Context) bool {
	var synced []cache.DoneChecker
	for _, h := range k.handlers {
		synced = append(synced, h.registration.HasSyncedChecker())
	}
	return cache.WaitFor(klog.NewContext(ctx, k.opts.Logger.V(4)), Component, synced...)
}

// takeOver makes the nodes: those that an earlier run or a client left in the API, and
// those that the options ask for. Addresses in use are taken before any is given out.
func (k *Kubelet) takeOver() error {
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

// sync looks after a pod or a node. A panic is that key's only, which is given up.
func (k *Kubelet) sync(ctx context.Context, key key) (loop.Result, error) {
	defer func() {
		if r := recover(); r != nil {
			k.opts.Logger.Error(fmt.Errorf("panic: %v", r), "Gave up a pod or node", "key", key.id, "stack", string(debug.Stack()))
		}
	}()
	if key.node {
		k.syncNode(ctx, key)
	} else {
		k.syncPod(ctx, key)
	}
	return loop.Result{}, nil
}

// settled reports whether a pod's last worker, while there is no other, has seen all
// that came of it.
func (k *Kubelet) settled(key key) bool {
	e := k.pods.get(types.UID(key.id))
	return e != nil && !e.stale.Load() && e.rests(k.opts.Clock.Now())
}

func (k *Kubelet) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, h := range k.handlers {
		// The informer may have stopped before us: then there is nothing to remove.
		_ = h.informer.RemoveEventHandler(h.registration)
	}
	k.loop.Close()
	k.due.Close()
	if k.own != nil {
		k.own.Shutdown()
	}
}

func (k *Kubelet) observePod(obj any) {
	pod, ok := obj.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return
	}
	if k.pods.observe(pod) {
		k.loop.Offer(podKey(string(pod.UID)))
	}
}

func (k *Kubelet) losePod(obj any) {
	if pod, ok := obj.(*corev1.Pod); ok && k.pods.lose(pod) {
		k.loop.Add(podKey(string(pod.UID)))
	}
}
