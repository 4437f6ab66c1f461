package replicaset

import (
	"context"

	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "replicaset-controller"

// workers is the number of owners reconciled at once, upstream's default.
const workers = 5

// Controller creates and deletes the pods of owners of one kind. Its keys are the owners.
type Controller struct{ loop loop.Loop }

// New returns a controller of ReplicaSets. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	return NewOf(e, Name, Name, e.Informers.ReplicaSets().Informer(), ReplicaSets())
}

// NewOf returns a controller of owners of another kind. Run starts it. name is the
// controller's name, and component the source of its events.
func NewOf[T plan.Object](e *env.Env, name, component string, informer cache.SharedIndexInformer, owners Owners[T]) (*Controller, error) {
	client, _, err := e.ClientFor(name)
	if err != nil {
		return nil, err
	}
	pods := e.Informers.Pods().Informer()
	r, err := NewReconciler(owners, Sources{
		Clock: e.Clock, ReplicaSets: informer.GetIndexer(),
		Executor: executor.Executor{Writer: executor.NewWriter(client), Recorder: e.Recorder.For(component)},
	})
	if err != nil {
		return nil, err
	}
	c := &Controller{loop: loop.New(e.Loop(name, workers), r)}
	c.loop.Watch(informer, r.OnReplicaSet)
	c.loop.Watch(pods, r.OnPod, r.ObservePod)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }
