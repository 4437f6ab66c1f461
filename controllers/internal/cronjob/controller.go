package cronjob

import (
	_ "time/tzdata"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/cronjob/decide"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "cronjob-controller"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 5, Aliases: []string{"cronjob"}, Account: "cronjob-controller",
		About:   "makes the Jobs of CronJobs",
		Watches: []string{"cronjobs", "jobs"}, Writes: []string{"jobs", "cronjobs/status"},
		Docs: "concepts/workloads/controllers/cron-jobs/",
		Concurrency: controller.Concurrency{Flag: "concurrent-cron-job-syncs", What: "CronJobs", In: func(s *controller.Settings) *int32 {
			return &s.CronJobController.ConcurrentCronJobSyncs
		}},
		Build: build,
	}
}

// Controller creates and deletes the Jobs of CronJobs. Its keys are CronJobs.
type Controller struct{ loop loop.Loop }

func build(p *controller.Parts) error {
	cronJobs, jobs := p.Informers.CronJobs().Informer(), p.Informers.Jobs().Informer()
	r, err := NewReconciler(Sources{
		Clock: p.Clock, CronJobs: cronJobs.GetIndexer(), Jobs: jobs.GetIndexer(),
		Executor: executor.Executor{Writer: executor.NewWriter(p.Client), Recorder: p.Recorder.For(p.Name)},
	})
	if err != nil {
		return err
	}
	c := &Controller{loop: p.Loop(r)}
	c.loop.Watch(cronJobs, func(ev loop.Event) []types.NamespacedName { return c.onCronJob(r, ev) })
	c.loop.Watch(jobs, r.OnJob)
	return nil
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
