package kubeletsim

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/images"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// Kubelets are the kubelets of all simulated nodes of one cluster. Create it with New, then
// call Run once. Its other methods may be called concurrently at any time.
type Kubelets struct {
	*common
	*injector
	*podWorker
	*staging
	*assigner
	beginOnce sync.Once
}

// New returns kubelets with the given options. It registers no node before Run. It fails
// without a Config or Client.
func New(opts Options) (*Kubelets, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	catalog, err := images.NewCatalog(opts.ImageCatalog)
	if err != nil {
		return nil, fmt.Errorf("reading the catalog of images: %w", err)
	}
	profiles, pulls := &images.Profiles{}, &images.PullErrors{}
	profiles.UseCatalog(catalog)
	kinds := opts.Informers
	if kinds == nil {
		if kinds, err = opts.ownInformers(); err != nil {
			return nil, err
		}
	}
	pods, nodes, configMaps := kinds.Pods(), kinds.Nodes(), kinds.ConfigMaps()
	c := &common{
		opts: opts, nodes: opts.newTable(), shards: newShards(opts.ShardOf), begun: make(chan struct{}),
		informers: kinds, nodeInformer: nodes.Informer(), podLister: pods.Lister(), nodeLister: nodes.Lister(),
	}
	c.pods = newPodTable(profiles, c.queuePod)
	meters := &meters{common: c}
	network := &network{serving: &serving{meters: meters}, images: profiles}
	attaching, statics, assigner := &attaching{common: c}, &statics{common: c}, &assigner{common: c}
	staging := &staging{common: c, attaching: attaching}
	supplies := &supplies{common: c, configMapLister: configMaps.Lister(), images: profiles}
	network.fabric = network.newFabric()
	network.containers = network.newContainers(&supplies.makers)
	supplies.containers = network.containers
	k := &Kubelets{
		common: c, staging: staging, assigner: assigner,
		injector: &injector{
			nodeManager: &nodeManager{network: network, attaching: attaching, statics: statics, staging: staging, assigner: assigner},
			pulls:       pulls,
		},
		podWorker: &podWorker{
			common: c, attaching: attaching, statics: statics, staging: staging, assigner: assigner, supplies: supplies,
			certificates: &certificateWatch{common: c}, pressure: &pressure{meters}, containers: network.containers,
			images: profiles, registry: &images.Registry{}, pulls: pulls,
		},
	}
	c.loop = newLoops(loop.TypedOptions[key]{
		Name: Component, KeyName: func(k key) string { return k.id }, Kind: inflight.Action, Workers: opts.Workers,
		Clock: opts.Clock, Ledger: opts.Ledger, Logger: opts.Logger, Settled: k.settled, BaseDelay: firstRetry, MaxDelay: lastRetry,
	}, loop.TypedFunc[key](k.sync))
	c.due = inflight.NewAlarms(opts.Clock, func(due key) { c.loop.Add(due) })
	if opts.Observe {
		k.Observe()
	}
	for _, watched := range []struct {
		what       string
		informer   cache.SharedIndexInformer
		seen, lost func(obj any)
	}{
		{"pods", pods.Informer(), k.observePod, k.losePod},
		{"nodes", c.nodeInformer, k.observeNode, k.loseNode},
		{"ConfigMaps for image profiles and static pods", configMaps.Informer(), k.observeConfigMap, k.loseConfigMap},
	} {
		if err := k.handle(watched.informer, watched.seen, watched.lost); err != nil {
			return nil, fmt.Errorf("watching %s: %w", watched.what, err)
		}
	}
	return k, nil
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
		return k.assigner.sync(ctx, key)
	case ofStatic:
		k.statics.sync(ctx, key)
		return nil
	case ofPressure:
		if k.shards.owns(key.id) {
			k.pressure.sync(key)
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

func (k *podWorker) observePod(obj any) {
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

func (k *podWorker) losePod(obj any) {
	if pod, ok := obj.(*corev1.Pod); ok && k.pods.lose(pod) {
		k.observations.leave(pod.UID)
		k.loop.Add(podKey(string(pod.UID)))
	}
}
