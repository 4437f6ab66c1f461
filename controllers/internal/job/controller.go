package job

import (
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/executor"
)

// Name is upstream's name of the controller.
const Name = "job-controller"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 5, Aliases: []string{"job"}, Account: "job-controller",
		About:   "runs pods to their end for Jobs",
		Watches: []string{"jobs", "pods"}, Writes: []string{"pods", "jobs/status"},
		Docs: "concepts/workloads/controllers/job/",
		Concurrency: controller.Concurrency{Flag: "concurrent-job-syncs", What: "Jobs", In: func(s *controller.Settings) *int32 {
			return &s.JobController.ConcurrentJobSyncs
		}},
		Build: build,
	}
}

// build makes a loop with the keys of Jobs, and one with the keys of pods that have lost their Job.
func build(p *controller.Parts) error {
	jobs, pods := p.Informers.Jobs().Informer(), p.Informers.Pods().Informer()
	sources := Sources{
		Clock: p.Clock, Jobs: jobs.GetIndexer(), Pods: pods.GetIndexer(),
		Executor: executor.Executor{Writer: executor.NewWriter(p.Client), Recorder: p.Recorder.For(p.Name)},
	}
	r := NewReconciler(sources)
	o, err := NewOrphans(sources)
	if err != nil {
		return err
	}
	reconciled, orphans := p.Loop(r), p.Beside("-orphans", 1, o)
	reconciled.Watch(jobs, r.OnJob)
	reconciled.Watch(pods, r.OnPod, r.ObservePod)
	orphans.Watch(jobs, o.OnJob)
	orphans.Watch(pods, o.OnPod)
	return nil
}
