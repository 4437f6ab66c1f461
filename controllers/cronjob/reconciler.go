package cronjob

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/controllerref"
	"minikcm.dev/minikcm/controllers/job"
	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/plan"
)

// Sources are the caches that a reconciler reads and the executor that it writes with.
type Sources struct {
	Clock clock.PassiveClock
	// CronJobs and Jobs are the informers' caches.
	CronJobs, Jobs cache.Indexer
	// Executor needs no Kind and no Tracker: the reconciler sets them.
	Executor plan.Executor
	// Decide replaces the function Decide if not nil: model tests plant mistakes here.
	Decide func(in Snapshot, now time.Time) Plan
}

// Reconciler is the controller without its loop: it reconciles a key, and maps
// events to keys.
type Reconciler struct {
	clock        clock.PassiveClock
	cronJobs     batchlisters.CronJobLister
	jobs         controllerref.Index[*batchv1.Job]
	executor     plan.Executor
	expectations *controllerref.Expectations
	decide       func(in Snapshot, now time.Time) Plan
}

// NewReconciler returns a reconciler. It adds the index that it needs to the cache of Jobs.
func NewReconciler(s Sources) (*Reconciler, error) {
	r := &Reconciler{
		clock: s.Clock, cronJobs: batchlisters.NewCronJobLister(s.CronJobs),
		executor: s.Executor, expectations: controllerref.NewExpectations(s.Clock), decide: s.Decide,
	}
	if r.decide == nil {
		r.decide = Decide
	}
	r.executor.Kind, r.executor.Tracker = Kind, r.expectations
	var err error
	if r.jobs, err = controllerref.NewIndex[*batchv1.Job](s.Jobs); err != nil {
		return nil, fmt.Errorf("preparing the cache of Jobs: %w", err)
	}
	return r, nil
}

// Reconcile creates the Job that is due and requeues the CronJob at the next time.
func (r *Reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	cj, err := r.cronJobs.CronJobs(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting CronJob %s: %w", key, err)
	}
	if met, left := r.expectations.Met(cj.UID); !met {
		return loop.Result{RequeueAfter: left}, nil
	}
	in, err := r.gather(ctx, cj)
	if err != nil {
		return loop.Result{}, err
	}
	p := r.decide(in, r.clock.Now())
	return plan.Settle(loop.Result{RequeueAfter: p.RequeueAfter}, r.execute(ctx, cj, p)...)
}

// gather takes the snapshot. It reads active Jobs that are not in the cache from the API:
// the cache of Jobs may be behind that of CronJobs, and a Job that is wrongly considered
// gone could run beside its successor.
func (r *Reconciler) gather(ctx context.Context, cj *batchv1.CronJob) (Snapshot, error) {
	in := Snapshot{CronJob: cj, Jobs: r.jobs.Of(cj.UID)}
	known := make(map[types.UID]bool, len(in.Jobs))
	for _, j := range in.Jobs {
		known[j.UID] = true
	}
	for _, ref := range cj.Status.Active {
		if known[ref.UID] {
			continue
		}
		live, err := r.read(ctx, ref.Namespace, ref.Name)
		if err != nil {
			return in, err
		}
		if live != nil && live.UID == ref.UID {
			in.Jobs = append(in.Jobs, live)
		}
	}
	return in, nil
}

// read reads a Job from the API; nil if it does not exist.
func (r *Reconciler) read(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	live, err := r.executor.Writer.Get(ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting Job %s/%s: %w", namespace, name, err)
	}
	j, ok := live.(*batchv1.Job)
	if !ok {
		return nil, fmt.Errorf("getting Job %s/%s: the API returned a %T", namespace, name, live)
	}
	return j, nil
}

// execute executes the plan and returns the errors separately, so that a stale error does
// not hide others.
func (r *Reconciler) execute(ctx context.Context, cj *batchv1.CronJob, p Plan) []error {
	r.executor.RecordEvents(cj, p.Events)
	if err := r.confirm(ctx, cj, p.Actions); err != nil {
		return []error{err}
	}
	if err := r.executor.Act(ctx, cj, p.Actions); err != nil {
		return []error{err}
	}
	started, startErr := r.start(ctx, cj, p.Start)
	if status := Conclude(cj, p, started); status != nil {
		update := *cj // a shallow copy: objects behind pointers are not changed
		update.Status = *status
		if err := r.executor.WriteStatus(ctx, &update); err != nil {
			return []error{startErr, err}
		}
	}
	return []error{startErr, r.executor.Act(ctx, cj, p.Tidy)}
}

// confirm reads the Jobs to replace from the API. If one cannot be read, the cache may be
// stale, and no successor is created.
func (r *Reconciler) confirm(ctx context.Context, cj *batchv1.CronJob, replaced []plan.Action) error {
	for _, action := range replaced {
		for _, o := range action.Objects {
			if _, err := r.executor.Writer.Get(ctx, o); err != nil {
				r.executor.RecordEvents(cj, []plan.Event{{Type: corev1.EventTypeWarning, Reason: "FailedGet", Message: fmt.Sprintf("Get job: %v", err)}})
				return fmt.Errorf("getting Job %s/%s, which is to be replaced: %w", o.GetNamespace(), o.GetName(), err)
			}
		}
	}
	return nil
}

// start creates the Job. It returns nil if a Job of that name exists: this controller
// created it just before a crash, or it is unrelated.
func (r *Reconciler) start(ctx context.Context, cj *batchv1.CronJob, j *batchv1.Job) (*batchv1.Job, error) {
	if j == nil {
		return nil, nil
	}
	created := &creation{Tracker: r.expectations}
	executor := r.executor
	executor.Tracker = created
	err := executor.Act(ctx, cj, []plan.Action{{
		Verb: plan.Create, Objects: []plan.Object{j},
		Succeeded: &plan.Event{Type: corev1.EventTypeNormal, Reason: "SuccessfulCreate", Message: "Created job ", Detail: true},
	}})
	switch {
	case apierrors.IsAlreadyExists(err):
		live, err := r.read(ctx, j.Namespace, j.Name)
		if err != nil || live == nil || !metav1.IsControlledBy(live, cj) {
			return nil, err
		}
		return live, nil
	case err != nil && !plan.NamespaceGoing(err):
		executor.RecordEvents(cj, []plan.Event{{Type: corev1.EventTypeWarning, Reason: "FailedCreate", Message: "Error creating job: " + plan.Message(err)}})
	}
	return created.job, err
}

// creation is a tracker that keeps the created Job.
type creation struct {
	plan.Tracker
	job *batchv1.Job
}

// Written keeps the Job as the API has stored it.
func (c *creation) Written(owner types.UID, o plan.Object) {
	c.Tracker.Written(owner, o)
	if j, ok := o.(*batchv1.Job); ok {
		c.job = j
	}
}

var cronJobOf = loop.ControllerOf(Kind.GroupKind())

// OnCronJob enqueues the CronJob itself.
func (r *Reconciler) OnCronJob(ev loop.Event) []types.NamespacedName {
	r.expectations.ObserveOwner(ev)
	return loop.Self(ev)
}

// OnJob enqueues the CronJob that controls a Job which is created, ends or is deleted.
func (r *Reconciler) OnJob(ev loop.Event) []types.NamespacedName {
	r.expectations.Observe(ev)
	j, ok := ev.Object.(*batchv1.Job)
	if !ok {
		return nil
	}
	if old, ok := ev.Old.(*batchv1.Job); ok && old.ResourceVersion != j.ResourceVersion &&
		(job.Finished(old) == nil) == (job.Finished(j) == nil) &&
		(old.DeletionTimestamp == nil) == (j.DeletionTimestamp == nil) &&
		controllerref.ControllerUID(old) == controllerref.ControllerUID(j) {
		return nil
	}
	return cronJobOf(ev)
}
