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

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/env"
	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/owned"
	"minikcm.dev/minikcm/controllers/plan"
)

// Name is the controller's name, as upstream has it.
const Name = "replicaset-controller"

// workers is how many ReplicaSets are reconciled at once, as upstream's default.
const workers = 5

// Controller keeps the pods of ReplicaSets. Its keys are ReplicaSets.
type Controller struct {
	clock        clock.Clock
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
	replicaSets, pods := e.Informers.Apps().V1().ReplicaSets(), e.Informers.Core().V1().Pods()
	c := &Controller{clock: e.Clock, replicaSets: replicaSets.Lister(), expectations: owned.NewExpectations(e.Clock)}
	if c.pods, err = owned.NewIndex[*corev1.Pod](pods.Informer()); err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	if c.sets, err = owned.NewIndex[*appsv1.ReplicaSet](replicaSets.Informer()); err != nil {
		return nil, fmt.Errorf("watching ReplicaSets: %w", err)
	}
	c.executor = &plan.Executor{
		Kind: Kind, Writer: plan.NewWriter(client), Recorder: e.Recorder.For(Name), Tracker: c.expectations,
	}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(replicaSets.Informer(), c.wakeSelf)
	c.loop.Watch(pods.Informer(), c.wakeOwnerOfPod)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns what the controller's loop has done so far.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

// Reconcile brings the ReplicaSet's pods to the number that it asks for.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	rs, err := c.replicaSets.ReplicaSets(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting ReplicaSet %s: %w", key, err)
	}
	if met, left := c.expectations.Met(rs.UID); !met {
		return loop.Result{RequeueAfter: left}, nil
	}
	now := c.clock.Now()
	p, err := Decide(c.gather(rs), now)
	if err != nil {
		return loop.Result{}, err
	}
	actErr := c.executor.Act(ctx, rs, p.Actions)
	statusErr := c.writeStatus(ctx, rs, Conclude(rs, p, actErr, now))
	err = errors.Join(plan.Settle(actErr), plan.Settle(statusErr))
	return loop.Result{RequeueAfter: p.RequeueAfter}, err
}

// gather takes the snapshot, after Met has said that the caches are up to date.
func (c *Controller) gather(rs *appsv1.ReplicaSet) Snapshot {
	in := Snapshot{ReplicaSet: rs, Pods: c.pods.Candidates(rs)}
	if Lacking(rs, len(in.Pods)) < 0 {
		in.Crowd = c.crowd(rs)
	}
	return in
}

// crowd counts, by node, the active pods of the ReplicaSets that have the same
// controller.
func (c *Controller) crowd(rs *appsv1.ReplicaSet) map[string]int {
	siblings := []*appsv1.ReplicaSet{rs}
	if ref := metav1.GetControllerOfNoCopy(rs); ref != nil {
		siblings = c.sets.Of(ref.UID)
	}
	crowd := map[string]int{}
	for _, sibling := range siblings {
		for _, pod := range c.pods.Of(sibling.UID) {
			if owned.Active(pod) && pod.Spec.NodeName != "" {
				crowd[pod.Spec.NodeName]++
			}
		}
	}
	return crowd
}

func (c *Controller) writeStatus(ctx context.Context, rs *appsv1.ReplicaSet, status *appsv1.ReplicaSetStatus) error {
	if status == nil {
		return nil
	}
	update := *rs // what the pointers in it lead to is not changed
	update.Status = *status
	return c.executor.WriteStatus(ctx, &update)
}
