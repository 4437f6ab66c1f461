package deployment

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	appslisters "k8s.io/client-go/listers/apps/v1"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/env"
	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/owned"
	"minikcm.dev/minikcm/controllers/plan"
)

// Name is the controller's name, as upstream has it.
const Name = "deployment-controller"

// workers is how many Deployments are reconciled at once, as upstream's default.
const workers = 5

// Controller rolls Deployments out. Its keys are Deployments.
type Controller struct {
	clock        clock.Clock
	deployments  appslisters.DeploymentLister
	replicaSets  appslisters.ReplicaSetLister
	sets         owned.Index[*appsv1.ReplicaSet]
	pods         owned.Index[*corev1.Pod]
	executor     *plan.Executor
	expectations *owned.Expectations
	loop         *loop.Loop
}

// New returns a controller that is not yet running.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	apps := e.Informers.Apps().V1()
	deployments, replicaSets, pods := apps.Deployments(), apps.ReplicaSets(), e.Informers.Core().V1().Pods()
	c := &Controller{
		clock: e.Clock, deployments: deployments.Lister(), replicaSets: replicaSets.Lister(),
		expectations: owned.NewExpectations(e.Clock),
	}
	if c.sets, err = owned.NewIndex[*appsv1.ReplicaSet](replicaSets.Informer()); err != nil {
		return nil, fmt.Errorf("watching ReplicaSets: %w", err)
	}
	if c.pods, err = owned.NewIndex[*corev1.Pod](pods.Informer()); err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	c.executor = &plan.Executor{
		Kind: Kind, Writer: plan.NewWriter(client), Recorder: e.Recorder.For(Name), Tracker: c.expectations,
	}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(deployments.Informer(), c.wakeSelf)
	c.loop.Watch(replicaSets.Informer(), c.wakeOwnerOfReplicaSet)
	c.loop.Watch(pods.Informer(), c.wakeRecreateOfPod)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns what the controller's loop has done so far.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

// Reconcile takes the Deployment's next step.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	d, err := c.deployments.Deployments(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting Deployment %s: %w", key, err)
	}
	if met, left := c.expectations.Met(d.UID); !met {
		return loop.Result{RequeueAfter: left}, nil
	}
	p, err := Decide(c.gather(d), c.clock.Now())
	if err != nil {
		return loop.Result{}, err
	}
	c.executor.Tell(d, p.Events)
	return loop.Result{RequeueAfter: p.RequeueAfter}, plan.Settle(c.execute(ctx, d, p))
}

// gather takes the snapshot, after Met has said that the caches are up to date.
func (c *Controller) gather(d *appsv1.Deployment) Snapshot {
	in := Snapshot{Deployment: d, ReplicaSets: c.sets.Candidates(d)}
	if d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		return in
	}
	in.Running = map[types.UID]int{}
	for _, rs := range in.ReplicaSets {
		for _, pod := range c.pods.Of(rs.UID) {
			if !owned.Ended(pod) {
				in.Running[rs.UID]++
			}
		}
	}
	return in
}

func (c *Controller) execute(ctx context.Context, d *appsv1.Deployment, p Plan) error {
	actErr := c.executor.Act(ctx, d, p.Actions)
	if wanted := takenName(actErr); wanted != nil {
		return c.resolveCollision(ctx, d, wanted)
	}
	if update := Conclude(d, p, actErr, c.clock.Now()); update != nil {
		if err := c.executor.WriteStatus(ctx, update); err != nil && actErr == nil {
			return err
		}
	}
	return actErr
}

// resolveCollision looks at who has the name, and asks for another one if it is a
// stranger.
func (c *Controller) resolveCollision(ctx context.Context, d *appsv1.Deployment, wanted *appsv1.ReplicaSet) error {
	found, err := c.executor.Writer.Get(ctx, wanted)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("ReplicaSet %s/%s was there and has gone: %w", wanted.Namespace, wanted.Name, err)
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
		return nil // its event is on the way, and wakes the Deployment
	}
	return c.executor.WriteStatus(ctx, update)
}
