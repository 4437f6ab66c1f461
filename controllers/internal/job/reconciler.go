package job

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/job/decide"
	"minikcm.dev/minikcm/controllers/internal/owner"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/controllers/internal/tally"
	"minikcm.dev/minikcm/internal/loop"
)

// Sources are the caches that a reconciler reads and the executor that it writes with.
type Sources struct {
	Clock clock.PassiveClock
	// Jobs and Pods are the informers' caches. Reconciler does not read Pods.
	Jobs, Pods cache.Indexer
	// Executor needs no Kind and no Tracker.
	Executor executor.Executor
	// Decide replaces decide.Job if not nil: model tests plant mistakes here.
	Decide func(in decide.Snapshot, now time.Time) (decide.Plan, error)
}

// Reconciler is the controller without its loop. It maps events to keys and reconciles them.
// Pass every event of a pod to ObservePod before OnPod.
type Reconciler struct {
	*owner.Reconciler[*batchv1.Job, decide.Snapshot, decide.Plan]
	jobs batchlisters.JobLister
	pods *tally.Tally[*corev1.Pod, *decide.Account]

	mu       sync.Mutex
	failures map[types.UID]decide.Failures
}

// NewReconciler returns a reconciler.
func NewReconciler(s Sources) *Reconciler {
	if s.Decide == nil {
		s.Decide = decide.Job
	}
	r := &Reconciler{
		jobs: batchlisters.NewJobLister(s.Jobs), pods: tally.New(tally.ByController[*corev1.Pod](decide.Kind.Kind), decide.NewAccount),
		failures: map[types.UID]decide.Failures{},
	}
	r.Reconciler = owner.New(s.Clock, s.Jobs, s.Executor, owner.Steps[*batchv1.Job, decide.Snapshot, decide.Plan]{
		Kind: decide.Kind, Gather: r.gather, Execute: r.execute,
		Decide: func(in decide.Snapshot, _ time.Time) (decide.Plan, error) { return s.Decide(in, in.At) },
	})
	return r
}

func (r *Reconciler) gather(_ context.Context, job *batchv1.Job) (in decide.Snapshot, err error) {
	in = decide.Snapshot{Job: job, At: r.Clock.Now(), Failures: r.known(job.UID)}
	if decide.Idle(job) {
		return in, nil
	}
	r.pods.Read(func(of func(string) *decide.Account) {
		in.Pods, err = of(string(job.UID)).Look(job, of(tally.Orphans(job.Namespace)), in.Failures, in.At)
	})
	return in, err
}

func (r *Reconciler) execute(ctx context.Context, job *batchv1.Job, _ decide.Snapshot, p decide.Plan) (loop.Result, error) {
	if err := r.Executor.Act(ctx, job, p.Actions); err != nil {
		return executor.Settle(loop.Result{}, err)
	}
	births := &births{Tracker: r.Expectations}
	creator := r.Executor
	creator.Tracker = births
	createErr := creator.Act(ctx, job, p.Creations)
	return executor.Settle(loop.Result{RequeueAfter: p.RequeueAfter}, createErr, r.store(ctx, job, p, int(births.n.Load())))
}

// births counts the created pods.
type births struct {
	executor.Tracker
	n atomic.Int32
}

// Written counts a created pod.
func (b *births) Written(owner types.UID, o plan.Object) {
	b.Tracker.Written(owner, o)
	b.n.Add(1)
}

// store writes the status, and then executes the actions that depend on the stored status.
func (r *Reconciler) store(ctx context.Context, job *batchv1.Job, p decide.Plan, created int) error {
	if status := decide.Conclude(job, p, created); status != nil {
		update := *job // a shallow copy: objects behind pointers are not changed
		update.Status = *status
		if err := r.Executor.WriteStatus(ctx, &update); err != nil {
			return err
		}
	}
	r.remember(job.UID, p)
	r.Executor.RecordEvents(job, p.Events)
	return r.Executor.Act(ctx, job, p.Untrack)
}

func (r *Reconciler) known(job types.UID) *decide.Failures {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.failures[job]; ok {
		return &f
	}
	return nil
}

func (r *Reconciler) remember(job types.UID, p decide.Plan) {
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
