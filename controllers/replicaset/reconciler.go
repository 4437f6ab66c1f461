package replicaset

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/owned"
	"minikcm.dev/minikcm/controllers/plan"
)

// Sources are what a reconciler reads and how it writes.
type Sources struct {
	Clock clock.PassiveClock
	// ReplicaSets and Pods are the informers' caches.
	ReplicaSets, Pods cache.Indexer
	// Executor needs no Kind and no Tracker: they are the reconciler's.
	Executor plan.Executor
}

// Reconciler is the controller without its loop: what is done about a key, and
// which keys an event wakes.
type Reconciler struct {
	clock        clock.PassiveClock
	replicaSets  appslisters.ReplicaSetLister
	sets         owned.Index[*appsv1.ReplicaSet]
	pods         owned.Index[*corev1.Pod]
	executor     plan.Executor
	expectations *owned.Expectations
}

// NewReconciler returns a reconciler. It adds to the caches the indexes that it needs.
func NewReconciler(s Sources) (*Reconciler, error) {
	r := &Reconciler{
		clock: s.Clock, replicaSets: appslisters.NewReplicaSetLister(s.ReplicaSets),
		executor: s.Executor, expectations: owned.NewExpectations(s.Clock),
	}
	r.executor.Kind, r.executor.Tracker = Kind, r.expectations
	var err error
	if r.pods, err = owned.NewIndex[*corev1.Pod](s.Pods); err != nil {
		return nil, fmt.Errorf("preparing the cache of pods: %w", err)
	}
	if r.sets, err = owned.NewIndex[*appsv1.ReplicaSet](s.ReplicaSets); err != nil {
		return nil, fmt.Errorf("preparing the cache of ReplicaSets: %w", err)
	}
	return r, nil
}

// Reconcile brings the ReplicaSet's pods to the number that it asks for.
func (r *Reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	rs, err := r.replicaSets.ReplicaSets(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting ReplicaSet %s: %w", key, err)
	}
	if met, left := r.expectations.Met(rs.UID); !met {
		return loop.Result{RequeueAfter: left}, nil
	}
	now := r.clock.Now()
	p, err := Decide(r.gather(rs), now)
	if err != nil {
		return loop.Result{}, err
	}
	actErr := r.executor.Act(ctx, rs, p.Actions)
	statusErr := r.writeStatus(ctx, rs, Conclude(rs, p, actErr, now))
	err = errors.Join(plan.Settle(actErr), plan.Settle(statusErr))
	return loop.Result{RequeueAfter: p.RequeueAfter}, err
}

// gather takes the snapshot, after Met has said that the caches are up to date.
func (r *Reconciler) gather(rs *appsv1.ReplicaSet) Snapshot {
	in := Snapshot{ReplicaSet: rs, Pods: r.pods.Candidates(rs)}
	if Lacking(rs, len(in.Pods)) < 0 {
		in.Crowd = r.crowd(rs)
	}
	return in
}

// crowd counts, by node, the active pods of the ReplicaSets that have the same
// controller.
func (r *Reconciler) crowd(rs *appsv1.ReplicaSet) map[string]int {
	siblings := []*appsv1.ReplicaSet{rs}
	if ref := metav1.GetControllerOfNoCopy(rs); ref != nil {
		siblings = r.sets.Of(ref.UID)
	}
	crowd := map[string]int{}
	for _, sibling := range siblings {
		for _, pod := range r.pods.Of(sibling.UID) {
			if owned.Active(pod) && pod.Spec.NodeName != "" {
				crowd[pod.Spec.NodeName]++
			}
		}
	}
	return crowd
}

func (r *Reconciler) writeStatus(ctx context.Context, rs *appsv1.ReplicaSet, status *appsv1.ReplicaSetStatus) error {
	if status == nil {
		return nil
	}
	update := *rs // what the pointers in it lead to is not changed
	update.Status = *status
	return r.executor.WriteStatus(ctx, &update)
}
