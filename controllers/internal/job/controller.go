package job

import (
	"context"

	"golang.org/x/sync/errgroup"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "job-controller"

// workers is the number of Jobs reconciled at once, upstream's default.
const workers = 5

// Controller reconciles Jobs. The keys of its loops are Jobs, and pods that have lost their
// Job.
type Controller struct{ jobs, orphans loop.Loop }

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	jobs, pods := e.Informers.Jobs().Informer(), e.Informers.Pods().Informer()
	sources := Sources{
		Clock: e.Clock, Jobs: jobs.GetIndexer(), Pods: pods.GetIndexer(),
		Executor: executor.Executor{Writer: executor.NewWriter(client), Recorder: e.Recorder.For(Name)},
	}
	r := NewReconciler(sources)
	o, err := NewOrphans(sources)
	if err != nil {
		return nil, err
	}
	c := &Controller{jobs: loop.New(e.Loop(Name, workers), r), orphans: loop.New(e.Loop(Name+"-orphans", 1), o)}
	c.jobs.Watch(jobs, r.OnJob)
	c.jobs.Watch(pods, r.OnPod, r.ObservePod)
	c.orphans.Watch(jobs, o.OnJob)
	c.orphans.Watch(pods, o.OnPod)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.jobs.Run(ctx) })
	group.Go(func() error { return c.orphans.Run(ctx) })
	return group.Wait()
}

// Stats returns the counters of the loop of Jobs.
func (c *Controller) Stats() loop.Stats { return c.jobs.Stats() }
