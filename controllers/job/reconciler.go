package job

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/controllerref"
	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/plan"
)

// Sources are the caches that a reconciler reads and the executor that it writes with.
type Sources struct {
	Clock clock.PassiveClock
	// Jobs and Pods are the informers' caches.
	Jobs, Pods cache.Indexer
	// Executor needs no Kind and no Tracker: the reconciler sets them.
	Executor plan.Executor
}

// Reconciler is the controller without its loop: it reconciles a key, and maps
// events to keys.
type Reconciler struct {
	clock        clock.PassiveClock
	jobs         batchlisters.JobLister
	pods         controllerref.Index[*corev1.Pod]
	executor     plan.Executor
	expectations *controllerref.Expectations

	// decide is Decide, except in tests that plant mistakes.
	decide func(Snapshot, time.Time) (Plan, error)

	mu       sync.Mutex
	failures map[types.UID]Failures
}

// NewReconciler returns a reconciler. It adds the index that it needs to the cache of pods.
func NewReconciler(s Sources) (*Reconciler, error) {
	r := &Reconciler{
		clock: s.Clock, jobs: batchlisters.NewJobLister(s.Jobs),
		executor: s.Executor, expectations: controllerref.NewExpectations(s.Clock),
		decide: Decide, failures: map[types.UID]Failures{},
	}
	r.executor.Kind, r.executor.Tracker = Kind, r.expectations
	var err error
	if r.pods, err = controllerref.NewIndex[*corev1.Pod](s.Pods); err != nil {
		return nil, fmt.Errorf("preparing the cache of pods: %w", err)
	}
	return r, nil
}

// Reconcile takes the Job's next step.
func (r *Reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	job, err := r.jobs.Jobs(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting Job %s: %w", key, err)
	}
	if met, left := r.expectations.Met(job.UID); !met {
		return loop.Result{RequeueAfter: left}, nil
	}
	p, err := r.decide(Snapshot{Job: job, Pods: r.pods.Candidates(job), Failures: r.known(job.UID)}, r.clock.Now())
	if err != nil {
		return loop.Result{}, err
	}
	if err := r.executor.Act(ctx, job, p.Actions); err != nil {
		return plan.Settle(loop.Result{}, err)
	}
	births := &births{Tracker: r.expectations}
	creator := r.executor
	creator.Tracker = births
	createErr := creator.Act(ctx, job, p.Creations)
	return plan.Settle(loop.Result{RequeueAfter: p.RequeueAfter}, createErr, r.store(ctx, job, p, int(births.n.Load())))
}

// births counts the created pods.
type births struct {
	plan.Tracker
	n atomic.Int32
}

// Written counts a created pod.
func (b *births) Written(owner types.UID, o plan.Object) {
	b.Tracker.Written(owner, o)
	b.n.Add(1)
}

// store writes the status, and then executes what depends on the stored status.
func (r *Reconciler) store(ctx context.Context, job *batchv1.Job, p Plan, created int) error {
	if status := Conclude(job, p, created); status != nil {
		update := *job // a shallow copy: objects behind pointers are not changed
		update.Status = *status
		if err := r.executor.WriteStatus(ctx, &update); err != nil {
			return err
		}
	}
	r.remember(job.UID, p)
	r.executor.RecordEvents(job, p.Events)
	return r.executor.Act(ctx, job, p.Untrack)
}

func (r *Reconciler) known(job types.UID) *Failures {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.failures[job]; ok {
		return &f
	}
	return nil
}

func (r *Reconciler) remember(job types.UID, p Plan) {
	if p.Status == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures[job] = p.Failures
}

// forget drops the failures of a Job that has ended or is gone.
func (r *Reconciler) forget(job types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.failures, job)
}
