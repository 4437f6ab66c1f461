package ttlafterfinished

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/job/conditions"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "ttl-after-finished-controller"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 5, Aliases: []string{"ttl-after-finished"}, Account: "ttl-after-finished-controller",
		About:   "deletes Jobs some time after their end",
		Watches: []string{"jobs"}, Writes: []string{"jobs"},
		Docs: "concepts/workloads/controllers/ttlafterfinished/",
		Concurrency: controller.Concurrency{Flag: "concurrent-ttl-after-finished-syncs", What: "ended Jobs", In: func(s *controller.Settings) *int32 {
			return &s.TTLAfterFinishedController.ConcurrentTTLSyncs
		}},
		Build: build,
	}
}

// Controller deletes Jobs whose time to live is over. Its keys are Jobs.
type Controller struct {
	clock  clock.PassiveClock
	jobs   batchlisters.JobLister
	client batchclient.JobsGetter
	// due is Due, except in tests that plant mistakes.
	due func(job *batchv1.Job, now time.Time) (bool, time.Duration, error)
}

func build(p *controller.Parts) error {
	jobs := p.Informers.Jobs()
	c := &Controller{clock: p.Clock, jobs: jobs.Lister(), client: p.Client.BatchV1(), due: Due}
	l := p.Loop(c)
	l.Watch(jobs.Informer(), onJob)
	return nil
}

// onJob enqueues a finished Job that has a time to live.
func onJob(ev loop.Event) []types.NamespacedName {
	job, ok := ev.Object.(*batchv1.Job)
	if !ok || ev.Type == loop.Deleted || job.DeletionTimestamp != nil || job.Spec.TTLSecondsAfterFinished == nil || conditions.Finished(job) == nil {
		return nil
	}
	return loop.Self(ev)
}

// Reconcile deletes the Job if its time to live is over, and otherwise requeues it for that
// time.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	job, err := c.jobs.Jobs(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting Job %s: %w", key, err)
	}
	if due, left, err := c.due(job, c.clock.Now()); !due {
		return loop.Result{RequeueAfter: left}, err
	}
	live, err := c.client.Jobs(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("reading Job %s before it is deleted: %w", key, err)
	}
	if due, left, err := c.due(live, c.clock.Now()); !due {
		return loop.Result{RequeueAfter: left}, err
	}
	foreground := metav1.DeletePropagationForeground
	err = c.client.Jobs(key.Namespace).Delete(ctx, key.Name, metav1.DeleteOptions{
		PropagationPolicy: &foreground,
		Preconditions:     &metav1.Preconditions{UID: &live.UID, ResourceVersion: &live.ResourceVersion},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		// After a conflict, the retry reads the changed Job.
		return loop.Result{}, fmt.Errorf("deleting Job %s: %w", key, err)
	}
	return loop.Result{}, nil
}
