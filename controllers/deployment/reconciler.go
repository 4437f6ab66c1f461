package deployment

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/controllerref"
	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/plan"
)

// Sources are the caches that a reconciler reads and the executor that it writes with.
type Sources struct {
	Clock clock.PassiveClock
	// Deployments, ReplicaSets and Pods are the informers' caches.
	Deployments, ReplicaSets, Pods cache.Indexer
	// Executor needs no Kind and no Tracker: the reconciler sets them.
	Executor plan.Executor
	// Decide replaces the function Decide if not nil: model tests plant mistakes here.
	Decide func(in Snapshot, now time.Time) (Plan, error)
}

// Reconciler is the controller without its loop: it reconciles a key, and maps
// events to keys.
type Reconciler struct {
	clock        clock.PassiveClock
	deployments  appslisters.DeploymentLister
	replicaSets  appslisters.ReplicaSetLister
	sets         controllerref.Index[*appsv1.ReplicaSet]
	pods         controllerref.Index[*corev1.Pod]
	executor     plan.Executor
	expectations *controllerref.Expectations
	decide       func(in Snapshot, now time.Time) (Plan, error)
}

// NewReconciler returns a reconciler. It adds the indexes that it needs to the caches.
func NewReconciler(s Sources) (*Reconciler, error) {
	r := &Reconciler{
		clock: s.Clock, deployments: appslisters.NewDeploymentLister(s.Deployments), replicaSets: appslisters.NewReplicaSetLister(s.ReplicaSets),
		executor: s.Executor, expectations: controllerref.NewExpectations(s.Clock), decide: s.Decide,
	}
	if r.decide == nil {
		r.decide = Decide
	}
	r.executor.Kind, r.executor.Tracker = Kind, r.expectations
	var err error
	if r.sets, err = controllerref.NewIndex[*appsv1.ReplicaSet](s.ReplicaSets); err != nil {
		return nil, fmt.Errorf("preparing the cache of ReplicaSets: %w", err)
	}
	if r.pods, err = controllerref.NewIndex[*corev1.Pod](s.Pods); err != nil {
		return nil, fmt.Errorf("preparing the cache of pods: %w", err)
	}
	return r, nil
}

// Reconcile takes the Deployment's next step.
func (r *Reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	d, err := r.deployments.Deployments(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting Deployment %s: %w", key, err)
	}
	if met, left := r.expectations.Met(d.UID); !met {
		return loop.Result{RequeueAfter: left}, nil
	}
	p, err := r.decide(r.gather(d), r.clock.Now())
	if err != nil {
		return loop.Result{}, err
	}
	r.executor.RecordEvents(d, p.Events)
	return plan.Settle(loop.Result{RequeueAfter: p.RequeueAfter}, r.execute(ctx, d, p))
}

// gather takes the snapshot. Met has reported that the caches are up to date.
func (r *Reconciler) gather(d *appsv1.Deployment) Snapshot {
	in := Snapshot{Deployment: d, ReplicaSets: r.sets.Candidates(d)}
	if d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		return in
	}
	in.Running = map[types.UID]int{}
	for _, rs := range in.ReplicaSets {
		for _, pod := range r.pods.Of(rs.UID) {
			if !controllerref.Ended(pod) {
				in.Running[rs.UID]++
			}
		}
	}
	return in
}

func (r *Reconciler) execute(ctx context.Context, d *appsv1.Deployment, p Plan) error {
	actErr := r.executor.Act(ctx, d, p.Actions)
	if wanted := takenName(actErr); wanted != nil {
		return r.resolveCollision(ctx, d, wanted)
	}
	if update := Conclude(d, p, actErr, r.clock.Now()); update != nil {
		if err := r.executor.WriteStatus(ctx, update); err != nil && actErr == nil {
			return err
		}
	}
	return actErr
}

// resolveCollision reads the ReplicaSet that has the wanted name, and raises the collision
// count if it is not the wanted one.
func (r *Reconciler) resolveCollision(ctx context.Context, d *appsv1.Deployment, wanted *appsv1.ReplicaSet) error {
	found, err := r.executor.Writer.Get(ctx, wanted)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("ReplicaSet %s/%s existed and is gone: %w", wanted.Namespace, wanted.Name, err)
	}
	if err != nil {
		return fmt.Errorf("reading the ReplicaSet that has the name %s/%s: %w", wanted.Namespace, wanted.Name, err)
	}
	live, ok := found.(*appsv1.ReplicaSet)
	if !ok {
		return fmt.Errorf("reading ReplicaSet %s/%s: got a %T", wanted.Namespace, wanted.Name, found)
	}
	update := Collided(d, wanted, live)
	if update == nil {
		return nil // its event is on the way and enqueues the Deployment
	}
	return r.executor.WriteStatus(ctx, update)
}
