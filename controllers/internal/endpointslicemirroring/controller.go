package endpointslicemirroring

import (
	"context"
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/dependents"
	"minikcm.dev/minikcm/controllers/internal/endpointslicemirroring/decide"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "endpointslice-mirroring-controller"

// eventSource is the source of the controller's events.
const eventSource = "endpoint-slice-mirroring-controller"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 5, Aliases: []string{"endpointslicemirroring"}, Account: "endpointslicemirroring-controller",
		About:   "copies Endpoints that are written by hand into EndpointSlices",
		Watches: []string{"endpoints", "services", "endpointslices"}, Writes: []string{"endpointslices"},
		Docs: "concepts/services-networking/service/#mirroring",
		Concurrency: controller.Concurrency{Flag: "mirroring-concurrent-service-endpoint-syncs", What: "Endpoints", In: func(s *controller.Settings) *int32 {
			return &s.EndpointSliceMirroringController.MirroringConcurrentServiceEndpointSyncs
		}},
		Build: build,
	}
}

// Controller mirrors Endpoints. Its keys are Endpoints, whose services have the same keys.
type Controller struct {
	client       kubernetes.Interface
	services     corelisters.ServiceLister
	endpoints    corelisters.EndpointsLister
	slices       cache.Indexer
	expectations *dependents.Expectations
	executor     executor.Executor
}

func build(p *controller.Parts) error {
	slices := p.Informers.EndpointSlices().Informer()
	if err := addIndex(slices); err != nil {
		return fmt.Errorf("indexing endpoint slices by what they mirror: %w", err)
	}
	c := &Controller{
		client:       p.Client,
		services:     p.Informers.Services().Lister(),
		endpoints:    p.Informers.Endpoints().Lister(),
		slices:       slices.GetIndexer(),
		expectations: dependents.NewExpectations(p.Clock),
	}
	c.executor = executor.Executor{Kind: decide.Kind, Writer: executor.NewWriter(p.Client), Recorder: p.Recorder.For(eventSource), Tracker: c.expectations}
	l := p.Loop(c)
	l.Watch(p.Informers.Services().Informer(), wakeForService)
	l.Watch(p.Informers.Endpoints().Informer(), c.wakeForEndpoints)
	l.Watch(slices, c.wakeForSlice)
	return nil
}

// Reconcile updates the slices of one Endpoints object.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	endpoints, err := found(c.endpoints.Endpoints(key.Namespace).Get(key.Name))
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting endpoints %s: %w", key, err)
	}
	service, err := found(c.services.Services(key.Namespace).Get(key.Name))
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting service %s: %w", key, err)
	}
	slices, err := mirrors(c.slices, key)
	if err != nil {
		return loop.Result{}, err
	}
	if !decide.Mirrored(endpoints, service) {
		return loop.Result{}, c.remove(ctx, slices)
	}
	if met, wait := c.expectations.Met(endpoints.UID); !met {
		return loop.Result{RequeueAfter: wait}, nil
	}
	decided := decide.EndpointSlices(endpoints, slices)
	if len(decided.Actions) > 0 {
		// Events about skipped addresses accompany changes only, not each event of the
		// controller's own slices.
		c.executor.RecordEvents(endpoints, decided.Events)
	}
	return executor.Settle(loop.Result{}, c.executor.Act(ctx, endpoints, decided.Actions))
}

// found returns nil for an object that does not exist.
func found[T any](o *T, err error) (*T, error) {
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return o, err
}

// remove deletes slices that mirror nothing any more. Their owner may be gone, so there are
// no expectations for it.
func (c *Controller) remove(ctx context.Context, slices []*discoveryv1.EndpointSlice) error {
	for _, slice := range slices {
		if err := executor.DeleteSame(ctx, c.client.DiscoveryV1().EndpointSlices(slice.Namespace).Delete, slice); err != nil {
			return fmt.Errorf("deleting endpoint slice %s/%s: %w", slice.Namespace, slice.Name, err)
		}
	}
	return nil
}
