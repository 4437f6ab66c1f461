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

	"minikcm.dev/minikcm/controllers/internal/dependents"
	"minikcm.dev/minikcm/controllers/internal/deployment/decide"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/owner"
	"minikcm.dev/minikcm/controllers/internal/tally"
	"minikcm.dev/minikcm/internal/loop"
)

// Sources are the caches that a reconciler reads and the executor that it writes with.
type Sources struct {
	Clock clock.PassiveClock
	// Deployments and ReplicaSets are the informers' caches.
	Deployments, ReplicaSets cache.Indexer
	// Executor needs no Kind and no Tracker.
	Executor executor.Executor
	// Decide replaces decide.Deployment if not nil: model tests plant mistakes here.
	Decide func(in decide.Snapshot, now time.Time) (decide.Plan, error)
}

// Reconciler is the controller without its loop. It maps events to keys and reconciles them.
// Pass every event of a pod to ObservePod before OnPod.
type Reconciler struct {
	*owner.Reconciler[*appsv1.Deployment, decide.Snapshot, decide.Plan]
	deployments appslisters.DeploymentLister
	replicaSets appslisters.ReplicaSetLister
	sets        dependents.Index[*appsv1.ReplicaSet]
	// running has the pods that have not ended, by ReplicaSet.
	running *tally.Tally[*corev1.Pod, running]
}

// NewReconciler returns a reconciler. It adds the indexes that it needs to the caches.
func NewReconciler(s Sources) (*Reconciler, error) {
	if s.Decide == nil {
		s.Decide = decide.Deployment
	}
	sets, err := dependents.NewIndex[*appsv1.ReplicaSet](s.ReplicaSets)
	if err != nil {
		return nil, err
	}
	r := &Reconciler{
		deployments: appslisters.NewDeploymentLister(s.Deployments), replicaSets: appslisters.NewReplicaSetLister(s.ReplicaSets),
		sets: sets, running: tally.New(replicaSetOfRunning, func() running { return running{} }),
	}
	r.Reconciler = owner.New(s.Clock, s.Deployments, s.Executor, owner.Steps[*appsv1.Deployment, decide.Snapshot, decide.Plan]{
		Kind: decide.Kind, Gather: r.gather, Decide: s.Decide, Execute: r.execute,
	})
	return r, nil
}

func (r *Reconciler) gather(_ context.Context, d *appsv1.Deployment) (decide.Snapshot, error) {
	in := decide.Snapshot{Deployment: d, ReplicaSets: r.sets.Candidates(d)}
	if d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		return in, nil
	}
	in.Running = map[types.UID]int{}
	r.running.Read(func(of func(string) running) {
		for _, rs := range in.ReplicaSets {
			if n := of(string(rs.UID)).Len(); n > 0 {
				in.Running[rs.UID] = n
			}
		}
	})
	return in, nil
}

func (r *Reconciler) execute(ctx context.Context, d *appsv1.Deployment, _ decide.Snapshot, p decide.Plan) (loop.Result, error) {
	r.Executor.RecordEvents(d, p.Events)
	return executor.Settle(loop.Result{RequeueAfter: p.RequeueAfter}, r.act(ctx, d, p))
}

func (r *Reconciler) act(ctx context.Context, d *appsv1.Deployment, p decide.Plan) error {
	actErr := r.Executor.Act(ctx, d, p.Actions)
	if wanted := decide.TakenName(actErr); wanted != nil {
		return r.resolveCollision(ctx, d, wanted)
	}
	if update := decide.Conclude(d, p, actErr, r.Clock.Now()); update != nil {
		if err := r.Executor.WriteStatus(ctx, update); err != nil && actErr == nil {
			return err
		}
	}
	return actErr
}

// resolveCollision reads the ReplicaSet that has the wanted name, and raises the collision
// count if it is not the wanted one.
func (r *Reconciler) resolveCollision(ctx context.Context, d *appsv1.Deployment, wanted *appsv1.ReplicaSet) error {
	found, err := r.Executor.Writer.Get(ctx, wanted)
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
	update := decide.Collided(d, wanted, live)
	if update == nil {
		return nil // its event is on the way and enqueues the Deployment
	}
	return r.Executor.WriteStatus(ctx, update)
}
