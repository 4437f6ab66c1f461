package deployment

import (
	"context"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "deployment-controller"

// workers is the number of Deployments reconciled at once, upstream's default.
const workers = 5

// Controller rolls out Deployments. Its keys are Deployments.
type Controller struct{ loop loop.Loop }

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	deployments, replicaSets, pods := e.Informers.Deployments().Informer(), e.Informers.ReplicaSets().Informer(), e.Informers.Pods().Informer()
	r, err := NewReconciler(Sources{
		Clock: e.Clock, Deployments: deployments.GetIndexer(), ReplicaSets: replicaSets.GetIndexer(),
		Executor: executor.Executor{Writer: executor.NewWriter(client), Recorder: e.Recorder.For(Name)},
	})
	if err != nil {
		return nil, err
	}
	c := &Controller{loop: loop.New(e.Loop(Name, workers), r)}
	c.loop.Watch(deployments, r.OnDeployment)
	c.loop.Watch(replicaSets, r.OnReplicaSet)
	c.loop.Watch(pods, r.OnPod, r.ObservePod)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }
