package cronjob

import (
	"context"
	_ "time/tzdata" // time zones do not depend on the machine's

	"minikcm.dev/minikcm/controllers/env"
	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/plan"
)

// Name is the controller's name, as upstream has it.
const Name = "cronjob-controller"

// workers is how many CronJobs are reconciled at once, as upstream's default.
const workers = 5

// Controller starts the Jobs of CronJobs. Its keys are CronJobs.
type Controller struct{ loop *loop.Loop }

// New returns a controller that is not yet running.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	cronJobs, jobs := e.Informers.Batch().V1().CronJobs().Informer(), e.Informers.Batch().V1().Jobs().Informer()
	r, err := NewReconciler(Sources{
		Clock: e.Clock, CronJobs: cronJobs.GetIndexer(), Jobs: jobs.GetIndexer(),
		Executor: plan.Executor{Writer: plan.NewWriter(client), Recorder: e.Recorder.For(Name)},
	})
	if err != nil {
		return nil, err
	}
	c := &Controller{loop: loop.New(e.Loop(Name, workers), r)}
	c.loop.Watch(cronJobs, r.OnCronJob)
	c.loop.Watch(jobs, r.OnJob)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns what the controller's loop has done so far.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }
