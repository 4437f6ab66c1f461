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

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/job/conditions"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "ttl-after-finished-controller"

// workers is the number of Jobs reconciled at once, upstream's default.
const workers = 5

// Controller deletes Jobs whose time to live is over. Its keys are Jobs.
type Controller struct {
	loop   loop.Loop
	clock  clock.PassiveClock
	jobs   batchlisters.JobLister
	client batchclient.JobsGetter
	// due is Due, except in tests that plant mistakes.
	due func(job *batchv1.Job, now time.Time) (bool, time.Duration, error)
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	jobs := e.Informers.Jobs()
	c := &Controller{clock: e.Clock, jobs: jobs.Lister(), client: client.BatchV1(), due: Due}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(jobs.Informer(), onJob)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

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
