package statefulset

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/internal/dependents"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/history/collision"
	"minikcm.dev/minikcm/controllers/internal/owner"
	"minikcm.dev/minikcm/controllers/internal/statefulset/decide"
	"minikcm.dev/minikcm/controllers/internal/tally"
	"minikcm.dev/minikcm/internal/loop"
)

// Sources are the caches that a reconciler reads and the executor that it writes with.
type Sources struct {
	Clock clock.PassiveClock
	// StatefulSets, Revisions and Claims are the informers' caches.
	StatefulSets, Revisions, Claims cache.Indexer
	// Executor needs no Kind and no Tracker.
	Executor executor.Executor
	// Decide replaces decide.StatefulSet if not nil: model tests plant mistakes here.
	Decide func(in decide.Snapshot, now time.Time) (decide.Plan, error)
}

// Reconciler is the controller without its loop. It maps events to keys and reconciles them.
// Pass every event of a pod to ObservePod before OnPod.
type Reconciler struct {
	*owner.Reconciler[*appsv1.StatefulSet, decide.Snapshot, decide.Plan]
	sets      appslisters.StatefulSetLister
	claims    corelisters.PersistentVolumeClaimLister
	pods      *tally.Tally[*corev1.Pod, *decide.Account]
	revisions dependents.Index[*appsv1.ControllerRevision]
}

// NewReconciler returns a reconciler. It adds the indexes that it needs to the caches.
func NewReconciler(s Sources) (*Reconciler, error) {
	if s.Decide == nil {
		s.Decide = decide.StatefulSet
	}
	revisions, err := dependents.NewIndex[*appsv1.ControllerRevision](s.Revisions)
	r := &Reconciler{
		sets: appslisters.NewStatefulSetLister(s.StatefulSets), claims: corelisters.NewPersistentVolumeClaimLister(s.Claims),
		pods: tally.New(tally.ByController[*corev1.Pod](decide.Kind.Kind), decide.NewAccount), revisions: revisions,
	}
	r.Reconciler = owner.New(s.Clock, s.StatefulSets, s.Executor, owner.Steps[*appsv1.StatefulSet, decide.Snapshot, decide.Plan]{
		Kind: decide.Kind, Gather: r.gather, Decide: s.Decide, Execute: r.execute,
	})
	return r, err
}

func (r *Reconciler) gather(_ context.Context, set *appsv1.StatefulSet) (decide.Snapshot, error) {
	claims := r.claims.PersistentVolumeClaims(set.Namespace)
	in := decide.Snapshot{
		Set: set, Revisions: r.revisions.Candidates(set),
		Claim: func(name string) *corev1.PersistentVolumeClaim {
			claim, err := claims.Get(name)
			if err != nil {
				return nil // the only error of a lister is not found
			}
			return claim
		},
	}
	revision, err := decide.NewestRevision(set, in.Revisions)
	if err != nil {
		return in, err
	}
	r.pods.Read(func(of func(string) *decide.Account) {
		in.Plain, in.Pods, err = of(string(set.UID)).Look(set, revision, of(tally.Orphans(set.Namespace)), r.Clock.Now())
	})
	return in, err
}

func (r *Reconciler) execute(ctx context.Context, set *appsv1.StatefulSet, _ decide.Snapshot, p decide.Plan) (loop.Result, error) {
	r.Executor.RecordEvents(set, p.Events)
	return collision.Execute(ctx, &r.Executor, set, p.Actions, loop.Result{RequeueAfter: p.RequeueAfter}, func(collided bool) *appsv1.StatefulSet {
		return decide.Conclude(set, p, collided)
	})
}
