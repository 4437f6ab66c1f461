package replicaset

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/controllerref"
	"minikcm.dev/minikcm/controllers/dependents"
	"minikcm.dev/minikcm/controllers/executor"
	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/owner"
	"minikcm.dev/minikcm/controllers/plan"
	"minikcm.dev/minikcm/controllers/replicaset/decide"
)

// Sources are the caches that a reconciler reads and the executor that it writes with.
type Sources struct {
	Clock clock.PassiveClock
	// ReplicaSets (or the owners of another kind) and Pods are the informers' caches.
	ReplicaSets, Pods cache.Indexer
	// Executor needs no Kind and no Tracker.
	Executor executor.Executor
	// Decide replaces decide.ReplicaSet if not nil: model tests plant mistakes here.
	Decide func(in decide.Snapshot, now time.Time) (decide.Plan, error)
}

// Reconciler is the controller without its loop. It maps events to keys and reconciles them. T is the kind of the owners.
type Reconciler[T plan.Object] struct {
	*owner.Reconciler[T, decide.Snapshot, decide.Plan]
	owners     Owners[T]
	cache      cache.Indexer
	sets       dependents.Index[T]
	pods       dependents.Index[*corev1.Pod]
	wakesOwner func(loop.Event) []types.NamespacedName
}

// NewReconciler returns a reconciler of owners of a kind that can be viewed as
// ReplicaSets. It adds the indexes that it needs to the caches.
func NewReconciler[T plan.Object](owners Owners[T], s Sources) (*Reconciler[T], error) {
	if s.Decide == nil {
		s.Decide = decide.ReplicaSet
	}
	sets, setsErr := dependents.NewIndex[T](s.ReplicaSets)
	pods, podsErr := dependents.NewIndex[*corev1.Pod](s.Pods)
	r := &Reconciler[T]{
		owners: owners, cache: s.ReplicaSets, sets: sets, pods: pods, wakesOwner: loop.ControllerOf(owners.Kind.GroupKind()),
	}
	r.Reconciler = owner.New(s.Clock, s.ReplicaSets, s.Executor, owner.Steps[T, decide.Snapshot, decide.Plan]{
		Kind: owners.Kind, Gather: r.gather, Decide: s.Decide, Execute: r.execute,
	})
	return r, errors.Join(setsErr, podsErr)
}

func (r *Reconciler[T]) gather(_ context.Context, owner T) (decide.Snapshot, error) {
	in := decide.Snapshot{ReplicaSet: r.owners.View(owner), Kind: r.owners.Kind, Pods: r.pods.Candidates(owner)}
	if decide.Lacking(in.ReplicaSet, len(in.Pods)) < 0 {
		in.Crowd = r.crowd(owner)
	}
	return in, nil
}

func (r *Reconciler[T]) execute(ctx context.Context, owner T, in decide.Snapshot, p decide.Plan) (loop.Result, error) {
	actErr := r.Executor.Act(ctx, owner, p.Actions)
	statusErr := r.writeStatus(ctx, owner, decide.Conclude(in.ReplicaSet, p, actErr, r.Clock.Now()))
	return executor.Settle(loop.Result{RequeueAfter: p.RequeueAfter}, actErr, statusErr)
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
	return r.Executor.WriteStatus(ctx, r.owners.WithStatus(owner, status))
}
