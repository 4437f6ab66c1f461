package replicaset

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/controllerref"
	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/plan"
)

// Sources are the caches that a reconciler reads and the executor that it writes with.
type Sources struct {
	Clock clock.PassiveClock
	// ReplicaSets (or the owners of another kind) and Pods are the informers' caches.
	ReplicaSets, Pods cache.Indexer
	// Executor needs no Kind and no Tracker: the reconciler sets them.
	Executor plan.Executor
	// Decide replaces the function Decide if not nil: model tests plant mistakes here.
	Decide func(in Snapshot, now time.Time) (Plan, error)
}

// Reconciler is the controller without its loop: it reconciles a key, and maps
// events to keys. T is the kind of the owners.
type Reconciler[T plan.Object] struct {
	clock        clock.PassiveClock
	owners       Owners[T]
	cache        cache.Indexer
	sets         controllerref.Index[T]
	pods         controllerref.Index[*corev1.Pod]
	executor     plan.Executor
	expectations *controllerref.Expectations
	decide       func(in Snapshot, now time.Time) (Plan, error)
	wakesOwner   func(loop.Event) []types.NamespacedName
}

// NewReconciler returns a reconciler of ReplicaSets. It adds the indexes
// that it needs to the caches.
func NewReconciler(s Sources) (*Reconciler[*appsv1.ReplicaSet], error) {
	return NewReconcilerOf(replicaSets(), s)
}

// NewReconcilerOf returns a reconciler of owners of a kind that can be viewed as
// ReplicaSets.
func NewReconcilerOf[T plan.Object](owners Owners[T], s Sources) (*Reconciler[T], error) {
	r := &Reconciler[T]{
		clock: s.Clock, owners: owners, cache: s.ReplicaSets, executor: s.Executor,
		expectations: controllerref.NewExpectations(s.Clock), decide: s.Decide, wakesOwner: loop.ControllerOf(owners.Kind.GroupKind()),
	}
	if r.decide == nil {
		r.decide = Decide
	}
	r.executor.Kind, r.executor.Tracker = owners.Kind, r.expectations
	var err error
	if r.pods, err = controllerref.NewIndex[*corev1.Pod](s.Pods); err != nil {
		return nil, fmt.Errorf("preparing the cache of pods: %w", err)
	}
	if r.sets, err = controllerref.NewIndex[T](s.ReplicaSets); err != nil {
		return nil, fmt.Errorf("preparing the cache of %ss: %w", owners.Kind.Kind, err)
	}
	return r, nil
}

// Reconcile brings the owner's pods to the wanted number.
func (r *Reconciler[T]) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	owner, found, err := r.get(key)
	if err != nil || !found {
		return loop.Result{}, err
	}
	if met, left := r.expectations.Met(owner.GetUID()); !met {
		return loop.Result{RequeueAfter: left}, nil
	}
	now := r.clock.Now()
	in := r.gather(owner)
	p, err := r.decide(in, now)
	if err != nil {
		return loop.Result{}, err
	}
	actErr := r.executor.Act(ctx, owner, p.Actions)
	statusErr := r.writeStatus(ctx, owner, Conclude(in.ReplicaSet, p, actErr, now))
	return plan.Settle(loop.Result{RequeueAfter: p.RequeueAfter}, actErr, statusErr)
}

func (r *Reconciler[T]) get(key types.NamespacedName) (owner T, found bool, err error) {
	obj, found, err := r.cache.GetByKey(key.String())
	if err != nil {
		return owner, false, fmt.Errorf("getting %s %s: %w", r.owners.Kind.Kind, key, err)
	}
	if found {
		owner, found = obj.(T)
	}
	return owner, found, nil
}

// gather takes the snapshot. Met has reported that the caches are up to date.
func (r *Reconciler[T]) gather(owner T) Snapshot {
	in := Snapshot{ReplicaSet: r.owners.View(owner), Kind: r.owners.Kind, Pods: r.pods.Candidates(owner)}
	if Lacking(in.ReplicaSet, len(in.Pods)) < 0 {
		in.Crowd = r.crowd(owner)
	}
	return in
}

// crowd counts, by node, the active pods of the owners that have the same controller.
func (r *Reconciler[T]) crowd(owner T) map[string]int {
	siblings := []T{owner}
	if ref := metav1.GetControllerOfNoCopy(owner); ref != nil {
		siblings = r.sets.Of(ref.UID)
	}
	crowd := map[string]int{}
	for _, sibling := range siblings {
		for _, pod := range r.pods.Of(sibling.GetUID()) {
			if controllerref.Active(pod) && pod.Spec.NodeName != "" {
				crowd[pod.Spec.NodeName]++
			}
		}
	}
	return crowd
}

func (r *Reconciler[T]) writeStatus(ctx context.Context, owner T, status *appsv1.ReplicaSetStatus) error {
	if status == nil {
		return nil
	}
	return r.executor.WriteStatus(ctx, r.owners.WithStatus(owner, status))
}
