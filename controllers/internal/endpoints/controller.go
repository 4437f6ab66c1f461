package endpoints

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/endpointslice/selection"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "endpoints-controller"

const (
	eventSource = "endpoint-controller"
	workers     = 5
)

// Controller writes Endpoints. Its keys are services.
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
	c := &Controller{}
	c.Reconciler, err = NewReconciler(Sources{
		Writer: executor.NewWriter(client), Recorder: e.Recorder.For(eventSource), Sized: c.batch.Computed,
		Services: e.Informers.Services().Informer().GetIndexer(), Pods: e.Informers.Pods().Informer().GetIndexer(), Endpoints: e.Informers.Endpoints().Informer().GetIndexer(),
	})
	if err != nil {
		return nil, fmt.Errorf("preparing %s: %w", Name, err)
	}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(e.Informers.Services().Informer(), loop.Self)
	c.loop.Watch(e.Informers.Pods().Informer(), c.wakeForPod, c.ObservePod)
	c.loop.Watch(e.Informers.Endpoints().Informer(), OnEndpoints)
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
