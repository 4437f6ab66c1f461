package statefulset

import (
	"context"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "statefulset-controller"

// workers is the number of StatefulSets reconciled at once, upstream's default.
const workers = 5

// Controller creates, updates and deletes the pods of StatefulSets. Its keys are
// StatefulSets.
type Controller struct{ loop loop.Loop }

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	sets, revisions := e.Informers.StatefulSets().Informer(), e.Informers.ControllerRevisions().Informer()
	pods, claims := e.Informers.Pods().Informer(), e.Informers.PersistentVolumeClaims().Informer()
	r, err := NewReconciler(Sources{
		Clock: e.Clock, StatefulSets: sets.GetIndexer(), Revisions: revisions.GetIndexer(), Claims: claims.GetIndexer(),
		Executor: executor.Executor{Writer: executor.NewWriter(client), Recorder: e.Recorder.For(Name)},
	})
	if err != nil {
		return nil, err
	}
	c := &Controller{loop: loop.New(e.Loop(Name, workers), r)}
	c.loop.Watch(sets, r.OnStatefulSet)
	c.loop.Watch(revisions, r.OnRevision)
	c.loop.Watch(pods, r.OnPod, r.ObservePod)
	c.loop.Watch(claims, r.OnClaim)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }
