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
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/cronjob/decide"
	"minikcm.dev/minikcm/controllers/internal/dependents"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/job/conditions"
	"minikcm.dev/minikcm/controllers/internal/owner"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

// Sources are the caches that a reconciler reads and the executor that it writes with.
type Sources struct {
	Clock clock.PassiveClock
	// CronJobs and Jobs are the informers' caches.
	CronJobs, Jobs cache.Indexer
	// Executor needs no Kind and no Tracker.
	Executor executor.Executor
	// Decide replaces decide.CronJob if not nil: model tests plant mistakes here.
	Decide func(in decide.Snapshot, now time.Time) decide.Plan
}

// Reconciler is the controller without its loop. It maps events to keys and reconciles them.
type Reconciler struct {
	*owner.Reconciler[*batchv1.CronJob, decide.Snapshot, decide.Plan]
	jobs dependents.Index[*batchv1.Job]
}

// NewReconciler returns a reconciler. It adds the index that it needs to the cache of Jobs.
func NewReconciler(s Sources) (*Reconciler, error) {
	if s.Decide == nil {
		s.Decide = decide.CronJob
	}
	jobs, err := dependents.NewIndex[*batchv1.Job](s.Jobs)
	r := &Reconciler{jobs: jobs}
	r.Reconciler = owner.New(s.Clock, s.CronJobs, s.Executor, owner.Steps[*batchv1.CronJob, decide.Snapshot, decide.Plan]{
		Kind: decide.Kind, Gather: r.gather, Execute: r.execute,
		Decide: func(in decide.Snapshot, now time.Time) (decide.Plan, error) { return s.Decide(in, now), nil },
	})
	return r, err
}

// gather takes the snapshot. It reads active Jobs that are not in the cache from the API:
// the Job cache may be behind the CronJob cache, and a Job that is wrongly considered gone could
// run beside its successor.
func (r *Reconciler) gather(ctx context.Context, cj *batchv1.CronJob) (decide.Snapshot, error) {
	in := decide.Snapshot{CronJob: cj, Jobs: r.jobs.Of(cj.UID)}
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
	live, err := r.Executor.Writer.Get(ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
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

func (r *Reconciler) execute(ctx context.Context, cj *batchv1.CronJob, _ decide.Snapshot, p decide.Plan) (loop.Result, error) {
	return executor.Settle(loop.Result{RequeueAfter: p.RequeueAfter}, r.act(ctx, cj, p)...)
}

// act executes the plan and returns the errors separately, so that a stale error does not
// hide others.
func (r *Reconciler) act(ctx context.Context, cj *batchv1.CronJob, p decide.Plan) []error {
	r.Executor.RecordEvents(cj, p.Events)
	if err := r.confirm(ctx, cj, p.Actions); err != nil {
		return []error{err}
	}
	if err := r.Executor.Act(ctx, cj, p.Actions); err != nil {
		return []error{err}
	}
	started, startErr := r.start(ctx, cj, p.Start)
	if status := decide.Conclude(cj, p, started); status != nil {
		update := *cj // a shallow copy: objects behind pointers are not changed
		update.Status = *status
		if err := r.Executor.WriteStatus(ctx, &update); err != nil {
			return []error{startErr, err}
		}
	}
	return []error{startErr, r.Executor.Act(ctx, cj, p.Tidy)}
}

// confirm reads the Jobs to replace from the API. If one cannot be read, the cache may be
// stale, and no successor is created.
func (r *Reconciler) confirm(ctx context.Context, cj *batchv1.CronJob, replaced []plan.Action) error {
	for _, action := range replaced {
		for _, o := range action.Objects {
			if _, err := r.Executor.Writer.Get(ctx, o); err != nil {
				r.Executor.RecordEvents(cj, []plan.Event{{Type: corev1.EventTypeWarning, Reason: "FailedGet", Message: fmt.Sprintf("Get job: %v", err)}})
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
	created := &creation{Tracker: r.Expectations}
	x := r.Executor
	x.Tracker = created
	err := x.Act(ctx, cj, []plan.Action{{
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
		x.RecordEvents(cj, []plan.Event{{Type: corev1.EventTypeWarning, Reason: "FailedCreate", Message: "Error creating job: " + plan.Message(err)}})
	}
	return created.job, err
}

// creation is a tracker that keeps the created Job.
type creation struct {
	executor.Tracker
	job *batchv1.Job
}

// Written keeps the Job as the API has stored it.
func (c *creation) Written(owner types.UID, o plan.Object) {
	c.Tracker.Written(owner, o)
	if j, ok := o.(*batchv1.Job); ok {
		c.job = j
	}
}

var cronJobOf = loop.ControllerOf(decide.Kind.GroupKind())

// OnCronJob enqueues the CronJob itself.
func (r *Reconciler) OnCronJob(ev loop.Event) []types.NamespacedName {
	r.Expectations.ObserveOwner(ev)
	return loop.Self(ev)
}

// OnJob enqueues the CronJob that controls a Job which is created, ends or is deleted.
func (r *Reconciler) OnJob(ev loop.Event) []types.NamespacedName {
	r.Expectations.Observe(ev)
	j, ok := ev.Object.(*batchv1.Job)
	if !ok {
		return nil
	}
	if old, ok := ev.Old.(*batchv1.Job); ok && old.ResourceVersion != j.ResourceVersion &&
		(conditions.Finished(old) == nil) == (conditions.Finished(j) == nil) &&
		(old.DeletionTimestamp == nil) == (j.DeletionTimestamp == nil) &&
		controllerref.ControllerUID(old) == controllerref.ControllerUID(j) {
		return nil
	}
	return cronJobOf(ev)
}
