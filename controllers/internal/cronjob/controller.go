package cronjob

import (
	"context"
	_ "time/tzdata"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/cronjob/decide"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "cronjob-controller"

// workers is the number of CronJobs reconciled at once, upstream's default.
const workers = 5

// Controller creates and deletes the Jobs of CronJobs. Its keys are CronJobs.
type Controller struct{ loop loop.Loop }

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	cronJobs, jobs := e.Informers.CronJobs().Informer(), e.Informers.Jobs().Informer()
	r, err := NewReconciler(Sources{
		Clock: e.Clock, CronJobs: cronJobs.GetIndexer(), Jobs: jobs.GetIndexer(),
		Executor: executor.Executor{Writer: executor.NewWriter(client), Recorder: e.Recorder.For(Name)},
	})
	if err != nil {
		return nil, err
	}
	c := &Controller{loop: loop.New(e.Loop(Name, workers), r)}
	c.loop.Watch(cronJobs, func(ev loop.Event) []types.NamespacedName { return c.onCronJob(r, ev) })
	c.loop.Watch(jobs, r.OnJob)
	return c, nil
}

// onCronJob enqueues the CronJob: at once, or at the first time of a new schedule if the
// event changes the schedule.
func (c *Controller) onCronJob(r *Reconciler, ev loop.Event) []types.NamespacedName {
	keys := r.OnCronJob(ev)
	cj, ok := rescheduled(ev)
	if !ok {
		return keys
	}
	wait, err := decide.UntilNext(cj, r.Clock.Now())
	if err != nil {
		r.Executor.RecordEvents(cj, []plan.Event{decide.Unreadable(cj)})
		return nil
	}
	if wait == 0 {
		return keys
	}
	c.loop.AddAfter(loop.KeyOf(cj), wait)
	return nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }
