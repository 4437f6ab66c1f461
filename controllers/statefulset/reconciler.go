package statefulset

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/dependents"
	"minikcm.dev/minikcm/controllers/executor"
	"minikcm.dev/minikcm/controllers/history/collision"
	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/owner"
	"minikcm.dev/minikcm/controllers/statefulset/decide"
)

// Sources are the caches that a reconciler reads and the executor that it writes with.
type Sources struct {
	Clock clock.PassiveClock
	// StatefulSets, Pods, Revisions and Claims are the informers' caches.
	StatefulSets, Pods, Revisions, Claims cache.Indexer
	// Executor needs no Kind and no Tracker.
	Executor executor.Executor
	// Decide replaces decide.StatefulSet if not nil: model tests plant mistakes here.
	Decide func(in decide.Snapshot, now time.Time) (decide.Plan, error)
}

// Reconciler is the controller without its loop. It maps events to keys and reconciles them.
type Reconciler struct {
	*owner.Reconciler[*appsv1.StatefulSet, decide.Snapshot, decide.Plan]
	sets      appslisters.StatefulSetLister
	claims    corelisters.PersistentVolumeClaimLister
	pods      dependents.Index[*corev1.Pod]
	revisions dependents.Index[*appsv1.ControllerRevision]
}

// NewReconciler returns a reconciler. It adds the indexes that it needs to the caches.
func NewReconciler(s Sources) (*Reconciler, error) {
	if s.Decide == nil {
		s.Decide = decide.StatefulSet
	}
	pods, podsErr := dependents.NewIndex[*corev1.Pod](s.Pods)
	revisions, revisionsErr := dependents.NewIndex[*appsv1.ControllerRevision](s.Revisions)
	r := &Reconciler{
		sets: appslisters.NewStatefulSetLister(s.StatefulSets), claims: corelisters.NewPersistentVolumeClaimLister(s.Claims),
		pods: pods, revisions: revisions,
	}
	r.Reconciler = owner.New(s.Clock, s.StatefulSets, s.Executor, owner.Steps[*appsv1.StatefulSet, decide.Snapshot, decide.Plan]{
		Kind: decide.Kind, Gather: r.gather, Decide: s.Decide, Execute: r.execute,
	})
	return r, errors.Join(podsErr, revisionsErr)
}

func (r *Reconciler) gather(_ context.Context, set *appsv1.StatefulSet) (decide.Snapshot, error) {
	claims := r.claims.PersistentVolumeClaims(set.Namespace)
	return decide.Snapshot{
		Set: set, Pods: r.pods.Candidates(set), Revisions: r.revisions.Candidates(set),
		Claim: func(name string) *corev1.PersistentVolumeClaim {
			claim, err := claims.Get(name)
			if err != nil {
				return nil // the only error of a lister is not found
			}
			return claim
		},
	}, nil
}

func (r *Reconciler) execute(ctx context.Context, set *appsv1.StatefulSet, _ decide.Snapshot, p decide.Plan) (loop.Result, error) {
	r.Executor.RecordEvents(set, p.Events)
	return collision.Execute(ctx, &r.Executor, set, p.Actions, loop.Result{RequeueAfter: p.RequeueAfter}, func(collided bool) *appsv1.StatefulSet {
		return decide.Conclude(set, p, collided)
	})
}
