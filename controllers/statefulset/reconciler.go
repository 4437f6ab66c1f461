package statefulset

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/controllerref"
	"minikcm.dev/minikcm/controllers/history"
	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/plan"
)

// Sources are the caches that a reconciler reads and the executor that it writes with.
type Sources struct {
	Clock clock.PassiveClock
	// StatefulSets, Pods, Revisions and Claims are the informers' caches.
	StatefulSets, Pods, Revisions, Claims cache.Indexer
	// Executor needs no Kind and no Tracker: the reconciler sets them.
	Executor plan.Executor
	// Decide replaces the function Decide if not nil: model tests plant mistakes here.
	Decide func(in Snapshot, now time.Time) (Plan, error)
}

// Reconciler is the controller without its loop: it reconciles a key, and maps
// events to keys.
type Reconciler struct {
	clock        clock.PassiveClock
	sets         appslisters.StatefulSetLister
	claims       corelisters.PersistentVolumeClaimLister
	pods         controllerref.Index[*corev1.Pod]
	revisions    controllerref.Index[*appsv1.ControllerRevision]
	executor     plan.Executor
	expectations *controllerref.Expectations
	decide       func(in Snapshot, now time.Time) (Plan, error)
}

// NewReconciler returns a reconciler. It adds the indexes that it needs to the caches.
func NewReconciler(s Sources) (*Reconciler, error) {
	r := &Reconciler{
		clock: s.Clock, sets: appslisters.NewStatefulSetLister(s.StatefulSets), claims: corelisters.NewPersistentVolumeClaimLister(s.Claims),
		executor: s.Executor, expectations: controllerref.NewExpectations(s.Clock), decide: s.Decide,
	}
	if r.decide == nil {
		r.decide = Decide
	}
	r.executor.Kind, r.executor.Tracker = Kind, r.expectations
	var err error
	if r.pods, err = controllerref.NewIndex[*corev1.Pod](s.Pods); err != nil {
		return nil, fmt.Errorf("preparing the cache of pods: %w", err)
	}
	if r.revisions, err = controllerref.NewIndex[*appsv1.ControllerRevision](s.Revisions); err != nil {
		return nil, fmt.Errorf("preparing the cache of ControllerRevisions: %w", err)
	}
	return r, nil
}

// Reconcile takes the StatefulSet's next step.
func (r *Reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	set, err := r.sets.StatefulSets(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting StatefulSet %s: %w", key, err)
	}
	if met, left := r.expectations.Met(set.UID); !met {
		return loop.Result{RequeueAfter: left}, nil
	}
	p, err := r.decide(r.gather(set), r.clock.Now())
	if err != nil {
		return loop.Result{}, err
	}
	r.executor.RecordEvents(set, p.Events)
	return r.execute(ctx, set, p)
}

// gather takes the snapshot. Met has reported that the caches are up to date.
func (r *Reconciler) gather(set *appsv1.StatefulSet) Snapshot {
	claims := r.claims.PersistentVolumeClaims(set.Namespace)
	return Snapshot{
		Set: set, Pods: r.pods.Candidates(set), Revisions: r.revisions.Candidates(set),
		Claim: func(name string) *corev1.PersistentVolumeClaim {
			claim, err := claims.Get(name)
			if err != nil {
				return nil // the only error of a lister is not found
			}
			return claim
		},
	}
}

// execute executes the plan's actions and writes the status, whether they succeed or not:
// every action but the creation of a revision can be repeated.
func (r *Reconciler) execute(ctx context.Context, set *appsv1.StatefulSet, p Plan) (loop.Result, error) {
	result := loop.Result{RequeueAfter: p.RequeueAfter}
	actErr := r.executor.Act(ctx, set, p.Actions)
	collided := false
	if wanted := history.Taken(actErr); wanted != nil {
		var err error
		if collided, err = history.Collided(ctx, r.executor.Writer, set, wanted); err != nil || !collided {
			return result, err
		}
		actErr = nil
	}
	var statusErr error
	if update := Conclude(set, p, collided); update != nil {
		statusErr = r.executor.WriteStatus(ctx, update)
	}
	return plan.Settle(result, actErr, statusErr)
}
