package endpointslice

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/endpointslice/selection"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "endpointslice-controller"

// ManagedBy is the value of the label endpointslice.kubernetes.io/managed-by on
// the controller's slices, and the source of its events.
const (
	ManagedBy   = "endpointslice-controller.k8s.io"
	eventSource = "endpoint-slice-controller"
)

const workers = 5 // upstream's default

// Controller writes endpoint slices. Its keys are services.
type Controller struct {
	*Reconciler
	batch selection.Batch
	loop  loop.Loop
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	slices := e.Informers.EndpointSlices().Informer()
	c := &Controller{}
	c.Reconciler, err = NewReconciler(Sources{
		Clock: e.Clock, Logger: e.Logger, Client: client, Recorder: e.Recorder.For(eventSource),
		Services: e.Informers.Services().Informer().GetIndexer(), Pods: e.Informers.Pods().Informer().GetIndexer(),
		Nodes: e.Informers.Nodes().Informer().GetIndexer(), Slices: slices.GetIndexer(),
		Add:   func(key types.NamespacedName, causes ...int64) { c.loop.Add(key, causes...) },
		Sized: c.batch.Computed,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing %s: %w", Name, err)
	}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(e.Informers.Services().Informer(), c.OnService)
	c.loop.Watch(e.Informers.Pods().Informer(), c.wakeForPod, c.ObservePod)
	c.loop.Watch(slices, c.OnSlice, c.ObserveSlice)
	c.loop.Watch(e.Informers.Nodes().Informer(), c.OnNode, c.ObserveNode)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

// wakeForPod enqueues the services of a pod: small ones at once, large ones after a delay
// in which more events may arrive.
func (c *Controller) wakeForPod(ev loop.Event) []types.NamespacedName {
	return c.batch.Wake(c.OnPod(ev), ev, c.loop.AddAfter)
}
