package owner

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/internal/dependents"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

// Steps holds the functions in which controllers differ: T is the type of a controller's owners, S
// of the snapshots that it decides on, and P of its plans.
type Steps[T plan.Object, S, P any] struct {
	// Kind is the owners' kind.
	Kind schema.GroupVersionKind
	// Gather takes the snapshot. The caches show all earlier writes for the owner.
	Gather func(ctx context.Context, owner T) (S, error)
	// Decide returns the plan for a snapshot. It is a pure function.
	Decide func(in S, now time.Time) (P, error)
	// Execute carries out the plan and writes the owner's status. It returns the result of
	// the reconcile, as executor.Settle does.
	Execute func(ctx context.Context, owner T, in S, p P) (loop.Result, error)
}

// Reconciler reconciles owners. Controllers embed it, and pass the events of owners and
// dependents to Expectations before they map them to keys.
type Reconciler[T plan.Object, S, P any] struct {
	Clock clock.PassiveClock
	// Executor executes plans. Its Kind and Tracker are set.
	Executor     executor.Executor
	Expectations *dependents.Expectations

	owners cache.Indexer
	steps  Steps[T, S, P]
	pace   pace
}

// New returns a reconciler of the owners in the cache. x needs no Kind and no Tracker.
func New[T plan.Object, S, P any](c clock.PassiveClock, owners cache.Indexer, x executor.Executor, steps Steps[T, S, P]) *Reconciler[T, S, P] {
	expectations := dependents.NewExpectations(c)
	x.Kind, x.Tracker = steps.Kind, expectations
	return &Reconciler[T, S, P]{Clock: c, Executor: x, Expectations: expectations, owners: owners, steps: steps}
}

// Reconcile implements loop.Reconciler. An owner that is not in the cache is deleted, and
// needs nothing. While the caches lack writes for the owner, it requeues the key for the time
// at which the expectations expire; the events of those writes enqueue it earlier. A decision
// about an owner with many dependents is followed by a pause (pace).
func (r *Reconciler[T, S, P]) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	obj, found, err := r.owners.GetByKey(key.String())
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting %s %s: %w", r.steps.Kind.Kind, key, err)
	}
	owner, ok := obj.(T)
	if !found || !ok {
		r.pace.forget(key)
		return loop.Result{}, nil
	}
	if met, left := r.Expectations.Met(owner.GetUID()); !met {
		return loop.Result{RequeueAfter: left}, nil
	}
	began := r.Clock.Now()
	if left := r.pace.left(key, began); left > 0 {
		return loop.Result{RequeueAfter: left, Postponed: true}, nil
	}
	in, err := r.steps.Gather(ctx, owner)
	if err != nil {
		return loop.Result{}, err
	}
	p, err := r.steps.Decide(in, r.Clock.Now())
	if err != nil {
		return loop.Result{}, err
	}
	now := r.Clock.Now()
	r.pace.decided(key, now.Sub(began), now)
	return r.steps.Execute(ctx, owner, in, p)
}
