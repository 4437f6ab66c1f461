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

	"minikcm.dev/minikcm/controllers/internal/dependents"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/owner"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/controllers/internal/replicaset/decide"
	"minikcm.dev/minikcm/controllers/internal/tally"
	"minikcm.dev/minikcm/internal/loop"
)

// Sources are the caches that a reconciler reads and the executor that it writes with.
type Sources struct {
	Clock clock.PassiveClock
	// ReplicaSets (or the owners of another kind) is the informer's cache.
	ReplicaSets cache.Indexer
	// Executor needs no Kind and no Tracker.
	Executor executor.Executor
	// Decide replaces decide.ReplicaSet if not nil: model tests plant mistakes here.
	Decide func(in decide.Snapshot, now time.Time) (decide.Plan, error)
}

// Reconciler is the controller without its loop. It maps events to keys and reconciles them.
// T is the kind of the owners. Pass every event of a pod to ObservePod before OnPod.
type Reconciler[T plan.Object] struct {
	*owner.Reconciler[T, decide.Snapshot, decide.Plan]
	owners     Owners[T]
	cache      cache.Indexer
	sets       dependents.Index[T]
	pods       *tally.Tally[*corev1.Pod, *decide.Account]
	wakesOwner func(loop.Event) []types.NamespacedName
}

// NewReconciler returns a reconciler of owners of a kind that can be viewed as
// ReplicaSets. It adds the index that it needs to the cache.
func NewReconciler[T plan.Object](owners Owners[T], s Sources) (*Reconciler[T], error) {
	if s.Decide == nil {
		s.Decide = decide.ReplicaSet
	}
	sets, err := dependents.NewIndex[T](s.ReplicaSets)
	if err != nil {
		return nil, err
	}
	r := &Reconciler[T]{
		owners: owners, cache: s.ReplicaSets, sets: sets, pods: tally.New(tally.ByController[*corev1.Pod](owners.Kind.Kind), decide.NewAccount),
		wakesOwner: loop.ControllerOf(owners.Kind.GroupKind()),
	}
	r.Reconciler = owner.New(s.Clock, s.ReplicaSets, s.Executor, owner.Steps[T, decide.Snapshot, decide.Plan]{
		Kind: owners.Kind, Gather: r.gather, Decide: s.Decide, Execute: r.execute,
	})
	return r, nil
}

func (r *Reconciler[T]) gather(_ context.Context, owner T) (in decide.Snapshot, err error) {
	in = decide.Snapshot{ReplicaSet: r.owners.View(owner), Kind: r.owners.Kind}
	r.pods.Read(func(of func(string) *decide.Account) {
		account := of(string(owner.GetUID()))
		in.Pods, err = account.Look(in.ReplicaSet, of(tally.Orphans(owner.GetNamespace())), r.Clock.Now())
		if err == nil && decide.Lacking(in.ReplicaSet, in.Pods.Counts) < 0 {
			in.Active, in.Crowd = account.Active(in.Pods), map[string]int{}
			for _, sibling := range r.siblings(owner) {
				of(string(sibling.GetUID())).Crowd(in.Crowd)
			}
		}
	})
	if err != nil {
		return in, fmt.Errorf("deciding about %s %s/%s: %w", r.owners.Kind.Kind, owner.GetNamespace(), owner.GetName(), err)
	}
	return in, nil
}

func (r *Reconciler[T]) execute(ctx context.Context, owner T, in decide.Snapshot, p decide.Plan) (loop.Result, error) {
	actErr := r.Executor.Act(ctx, owner, p.Actions)
	statusErr := r.writeStatus(ctx, owner, decide.Conclude(in.ReplicaSet, p, actErr, r.Clock.Now()))
	return executor.Settle(loop.Result{RequeueAfter: p.RequeueAfter}, actErr, statusErr)
}

// siblings returns the owners that have the same controller, and the owner itself.
func (r *Reconciler[T]) siblings(owner T) []T {
	if ref := metav1.GetControllerOfNoCopy(owner); ref != nil {
		return r.sets.Of(ref.UID)
	}
	return []T{owner}
}

func (r *Reconciler[T]) writeStatus(ctx context.Context, owner T, status *appsv1.ReplicaSetStatus) error {
	if status == nil {
		return nil
	}
	return r.Executor.WriteStatus(ctx, r.owners.WithStatus(owner, status))
}
