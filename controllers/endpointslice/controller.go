package endpointslice

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	upstream "k8s.io/endpointslice"
	"k8s.io/endpointslice/metrics"
	"k8s.io/endpointslice/topologycache"
	endpointsliceutil "k8s.io/endpointslice/util"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock/cause"
	"minikcm.dev/minikcm/controllers/endpointslice/selection"
	"minikcm.dev/minikcm/controllers/env"
	"minikcm.dev/minikcm/controllers/loop"
)

// Name is upstream's name of the controller.
const Name = "endpointslice-controller"

// ManagedBy is the value of the label endpointslice.kubernetes.io/managed-by on
// the controller's slices, and the source of its events.
const (
	ManagedBy   = "endpointslice-controller.k8s.io"
	eventSource = "endpoint-slice-controller"
)

// Upstream's defaults.
const (
	workers              = 5
	maxEndpointsPerSlice = 100
)

// errBehind requeues a service until the informer shows the controller's own writes.
var errBehind = errors.New("the cache of endpoint slices is behind")

// Controller writes endpoint slices. Its keys are services.
type Controller struct {
	logger     klog.Logger
	client     *boundClient
	services   corelisters.ServiceLister
	nodes      corelisters.NodeLister
	slices     cache.Indexer
	selection  *selection.Selection
	batch      selection.Batch
	reconciler *upstream.Reconciler
	tracker    *endpointsliceutil.EndpointSliceTracker
	triggers   *endpointsliceutil.TriggerTimeTracker
	topology   *topologycache.TopologyCache
	events     record.EventRecorder
	loop       *loop.Loop
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	core, slices := e.Informers.Core().V1(), e.Informers.Discovery().V1().EndpointSlices()
	selected, err := selection.New(core.Pods().Informer(), core.Services().Informer())
	if err != nil {
		return nil, fmt.Errorf("preparing %s: %w", Name, err)
	}
	if err := addServiceIndex(slices.Informer()); err != nil {
		return nil, fmt.Errorf("indexing endpoint slices by their service: %w", err)
	}
	metrics.RegisterMetrics()
	c := &Controller{
		logger:    e.Logger,
		client:    &boundClient{Interface: client, slices: slices.Lister(), contexts: map[types.NamespacedName]context.Context{}, late: map[types.NamespacedName][]loop.Event{}},
		services:  core.Services().Lister(),
		nodes:     core.Nodes().Lister(),
		slices:    slices.Informer().GetIndexer(),
		selection: selected,
		tracker:   endpointsliceutil.NewEndpointSliceTracker(),
		triggers:  endpointsliceutil.NewTriggerTimeTracker(),
		topology:  topologycache.NewTopologyCache(),
		events:    e.Recorder.For(eventSource),
	}
	c.reconciler = upstream.NewReconciler(c.client, c.nodes, maxEndpointsPerSlice, c.tracker, c.topology, c.events, ManagedBy,
		upstream.WithPreferSameTrafficDistributionEnabled(true))
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(core.Services().Informer(), loop.Self)
	c.loop.Watch(core.Pods().Informer(), c.wakeForPod)
	c.loop.Watch(slices.Informer(), c.wakeForSlice)
	c.loop.Watch(core.Nodes().Informer(), c.wakeForNode)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

// Reconcile updates the slices of one service.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	service, err := c.services.Services(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		// The garbage collector deletes its slices, because the service owns them.
		c.forget(key)
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting service %s: %w", key, err)
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName || service.Spec.Selector == nil {
		return loop.Result{}, nil // the slices of these services are not this controller's
	}
	pods, err := c.selection.Pods(key.Namespace, service.Spec.Selector)
	if err != nil {
		return loop.Result{}, err
	}
	c.batch.Computed(key, len(pods))
	slices, err := c.slicesOf(key)
	if err != nil {
		return loop.Result{}, err
	}
	if c.tracker.StaleSlices(service, slices) {
		return loop.Result{}, fmt.Errorf("reconciling service %s: %w", key, errBehind)
	}
	trigger := c.triggers.ComputeEndpointLastChangeTriggerTime(key.Namespace, service, pods)
	late, err := c.client.during(ctx, key, func() error {
		return c.reconciler.Reconcile(klog.FromContext(ctx), service, pods, slices, trigger)
	})
	for _, ev := range late {
		for _, key := range c.changedByOthers(ev) {
			c.loop.Add(key, cause.Of(ev.Object)...)
		}
	}
	if err != nil && ctx.Err() == nil {
		c.events.Eventf(service, corev1.EventTypeWarning, "FailedToUpdateEndpointSlices",
			"Error updating Endpoint Slices for Service %s/%s: %v", key.Namespace, key.Name, err)
	}
	return loop.Result{}, err
}

func (c *Controller) forget(key types.NamespacedName) {
	c.batch.Computed(key, 0)
	c.triggers.DeleteService(key.Namespace, key.Name)
	c.reconciler.DeleteService(key.Namespace, key.Name)
	c.tracker.DeleteService(key.Namespace, key.Name)
}

// slicesOf returns the controller's slices of the service that are not being deleted. They
// belong to the informer: the library copies those that it changes.
func (c *Controller) slicesOf(key types.NamespacedName) ([]*discoveryv1.EndpointSlice, error) {
	objects, err := c.slices.ByIndex(byService, key.String())
	if err != nil {
		return nil, fmt.Errorf("looking up the endpoint slices of service %s: %w", key, err)
	}
	var slices []*discoveryv1.EndpointSlice
	for _, object := range objects {
		slice, ok := object.(*discoveryv1.EndpointSlice)
		if ok && slice.DeletionTimestamp == nil && c.reconciler.ManagedByController(slice) {
			slices = append(slices, slice)
		}
	}
	return slices, nil
}
