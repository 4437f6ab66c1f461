package nodeipam

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corelisters "k8s.io/client-go/listers/core/v1"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/nodeipam/decide"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "node-ipam-controller"

// eventSource is the component of the events, as upstream.
const eventSource = "cidrAllocator"

const off = "pod networks are not allocated, because --allocate-node-cidrs is off"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 30, Aliases: []string{"nodeipam"}, Account: "node-controller",
		About:   "gives nodes their networks of pod addresses, if it is asked to",
		Watches: []string{"nodes"}, Writes: []string{"nodes"},
		Docs:     "reference/command-line-tools-reference/kube-controller-manager/",
		Defaults: func(s *controller.Settings) { s.KubeCloudShared.CIDRAllocatorType = RangeAllocator },
		Flags:    flags,
		Idle: func(_ *env.Env, s *controller.Settings) string {
			if s.KubeCloudShared.AllocateNodeCIDRs {
				return ""
			}
			return off
		},
		Build: build,
	}
}

// Controller gives pod networks to Nodes. Its keys are their names.
type Controller struct {
	api    api
	nodes  corelisters.NodeLister
	report func(node *corev1.Node, reason string)
	again  func(node string)

	mu       sync.Mutex
	networks *decide.Networks
	// waiting are the names of the Nodes for which no networks are left.
	waiting sets.Set[string]
}

func build(p *controller.Parts) error {
	networks, err := networksOf(options(p.Settings))
	if err != nil {
		return err
	}
	nodes, events := p.Informers.Nodes(), p.Recorder.For(eventSource)
	c := newController(clientAPI{p.Client.CoreV1().Nodes()}, nodes.Lister(), networks)
	c.report = func(node *corev1.Node, reason string) {
		events.Event(node, corev1.EventTypeNormal, reason, fmt.Sprintf("Node %s status is now: %s", node.Name, reason))
	}
	l := p.Loop(c)
	l.Watch(nodes.Informer(), wakeForNode)
	c.again = func(node string) { l.Add(types.NamespacedName{Name: node}) }
	p.Before(c.holdExisting)
	return nil
}

func newController(a api, nodes corelisters.NodeLister, networks *decide.Networks) *Controller {
	return &Controller{api: a, nodes: nodes, networks: networks, waiting: sets.New[string]()}
}

func networksOf(opts *Options) (*decide.Networks, error) {
	clusters, err := opts.Clusters()
	if err != nil {
		return nil, err
	}
	services, err := opts.services()
	if err != nil {
		return nil, err
	}
	return decide.New(clusters, services...)
}

// wakeForNode enqueues Nodes that are new, gone, replaced, or have got networks; heartbeats are
// not of interest.
func wakeForNode(ev loop.Event) []types.NamespacedName {
	if before, ok := ev.Old.(*corev1.Node); ok && ev.Type == loop.Updated {
		now, ok := ev.Object.(*corev1.Node)
		if ok && before.UID == now.UID && len(before.Spec.PodCIDRs) == len(now.Spec.PodCIDRs) {
			return nil
		}
	}
	return loop.Self(ev)
}

// holdExisting records the networks that Nodes have. It reads the API, because the cache may be
// older than the last network that another process, or this one before a restart, handed out.
func (c *Controller) holdExisting(ctx context.Context) error {
	nodes, err := c.api.List(ctx)
	if err != nil {
		return fmt.Errorf("listing the nodes that have pod networks: %w", err)
	}
	for _, node := range nodes {
		if len(node.Spec.PodCIDRs) == 0 {
			continue
		}
		if err := c.hold(node); err != nil {
			return err
		}
	}
	return nil
}

func (c *Controller) hold(node *corev1.Node) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting.Delete(node.Name)
	return c.networks.Reserve(node.Name, node.UID, node.Spec.PodCIDRs)
}

// Reconcile allocates networks for a Node that has none, or releases the networks of a Node that is gone.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	node, err := c.nodes.Get(key.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("getting node %s: %w", key.Name, err)
	}
	if err != nil {
		node = nil
	}
	if node, err = c.confirm(ctx, key.Name, node); err != nil || node == nil {
		return loop.Result{}, err
	}
	switch {
	case node.DeletionTimestamp != nil:
		return loop.Result{}, nil
	case len(node.Spec.PodCIDRs) > 0:
		return loop.Result{}, c.hold(node)
	}
	return loop.Result{}, c.assign(ctx, node)
}

// confirm returns the Node of a name, or nil. If the cache does not have the Node that holds
// networks under the name, it reads the API, since the cache may be older than the holder:
//
//	T1 the API deletes node N and creates it again
//	T2 the controller starts, and holds the networks that the new N has
//	T3 the cache is filled up to the deletion of the old N
//
// At T3 the networks of the new N must not be given to another node.
func (c *Controller) confirm(ctx context.Context, name string, cached *corev1.Node) (*corev1.Node, error) {
	c.mu.Lock()
	uid, held := c.networks.Holder(name)
	c.mu.Unlock()
	if !held || cached != nil && cached.UID == uid {
		return cached, nil
	}
	node, err := c.api.Get(ctx, name)
	if apierrors.IsNotFound(err) {
		node, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting node %s, which has pod networks: %w", name, err)
	}
	if node == nil || node.UID != uid {
		c.free(name)
	}
	return node, nil
}

// free releases the networks that are allocated under a name, and enqueues the Nodes that wait.
func (c *Controller) free(name string) {
	c.mu.Lock()
	c.networks.Free(name)
	c.waiting.Delete(name)
	waiting := sets.List(c.waiting)
	c.mu.Unlock()
	for _, node := range waiting {
		c.again(node)
	}
}

// tries bounds the attempts to write networks, as upstream.
const tries = 3

// assign gives networks to a Node without any. The Node keeps them after an error, because the
// networks may have been written nevertheless.
func (c *Controller) assign(ctx context.Context, node *corev1.Node) error {
	networks, ok := c.take(node)
	if !ok {
		c.report(node, "CIDRNotAvailable")
		return fmt.Errorf("no pod network is left for node %s", node.Name)
	}
	if networks == nil {
		return nil // the cache is behind
	}
	var err error
	for range tries {
		if err = c.api.SetPodCIDRs(ctx, node, networks); err == nil {
			return nil
		}
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || ctx.Err() != nil {
			break
		}
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
		return c.lookAgain(ctx, node)
	}
	c.report(node, "CIDRAssignmentFailed")
	return fmt.Errorf("writing the pod networks of node %s: %w", node.Name, err)
}

func (c *Controller) take(node *corev1.Node) ([]string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken, ok := c.networks.Take(node.Name, node.UID)
	if !ok {
		c.waiting.Insert(node.Name)
		return nil, false
	}
	c.waiting.Delete(node.Name)
	var networks []string
	for _, network := range taken {
		networks = append(networks, network.String())
	}
	return networks, true
}

// lookAgain gives back the networks that were taken for a Node which is gone, or which got others
// meanwhile.
func (c *Controller) lookAgain(ctx context.Context, node *corev1.Node) error {
	live, err := c.api.Get(ctx, node.Name)
	switch {
	case apierrors.IsNotFound(err):
		c.free(node.Name)
		return nil
	case err != nil:
		return fmt.Errorf("getting node %s, whose pod networks could not be written: %w", node.Name, err)
	case live.UID != node.UID:
		c.free(node.Name)
	case len(live.Spec.PodCIDRs) > 0:
		return c.hold(live)
	}
	return fmt.Errorf("the pod networks of node %s could not be written, because it has changed", node.Name)
}
