package resourcepoolstatusrequest

import (
	"context"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	requestlisters "k8s.io/client-go/listers/resource/v1alpha3"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/resourcepoolstatusrequest/decide"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller, and workers its number of workers.
const (
	Name    = "resourcepoolstatusrequest-controller"
	workers = 1
)

// Controller answers and deletes requests. Its keys are their names.
type Controller struct {
	clock    clock.Clock
	client   kubernetes.Interface
	requests requestlisters.ResourcePoolStatusRequestLister
	slices   resourcelisters.ResourceSliceLister
	claims   resourcelisters.ResourceClaimLister
	rules    resourcelisters.DeviceTaintRuleLister
	metrics  *metrics
	loop     loop.Loop
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	requests, slices := e.Informers.ResourcePoolStatusRequests(), e.Informers.ResourceSlices()
	claims, rules := e.Informers.ResourceClaims(), e.Informers.DeviceTaintRules()
	c := &Controller{
		clock: e.Clock, client: client, metrics: newMetrics(e),
		requests: requests.Lister(), slices: slices.Lister(), claims: claims.Lister(), rules: rules.Lister(),
	}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(requests.Informer(), loop.Self)
	c.loop.Watch(slices.Informer(), c.wakeWaiting)
	// Claims and rules wake nothing: a request is answered from their state at that time.
	c.loop.Watch(claims.Informer(), wakeNone)
	c.loop.Watch(rules.Informer(), wakeNone)
	return c, nil
}

func wakeNone(loop.Event) []types.NamespacedName { return nil }

// wakeWaiting enqueues the requests that have no answer, because a pool was not complete, and may get one by a
// slice of their driver.
func (c *Controller) wakeWaiting(ev loop.Event) []types.NamespacedName {
	slice, ok := ev.Object.(*resourcev1.ResourceSlice)
	if !ok {
		return nil
	}
	requests, err := c.requests.List(labels.Everything())
	if err != nil {
		return nil
	}
	var keys []types.NamespacedName
	for _, r := range requests {
		if r.Status == nil && r.Spec.Driver == slice.Spec.Driver {
			keys = append(keys, types.NamespacedName{Name: r.Name})
		}
	}
	return keys
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

// Reconcile answers a request that has no status, and deletes it when its time is over.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	request, err := c.requests.Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting ResourcePoolStatusRequest %s: %w", key.Name, err)
	}
	now := c.clock.Now()
	if left := decide.Expiry(request).Sub(now); left <= 0 {
		return loop.Result{}, c.delete(ctx, request)
	} else if request.Status != nil {
		return loop.Result{RequeueAfter: left}, nil
	}
	input := decide.Input{Request: request}
	if input.Slices, err = c.slices.List(labels.Everything()); err != nil {
		return loop.Result{}, fmt.Errorf("listing ResourceSlices: %w", err)
	}
	if input.Claims, err = c.claims.List(labels.Everything()); err != nil {
		return loop.Result{}, fmt.Errorf("listing ResourceClaims: %w", err)
	}
	if input.Rules, err = c.rules.List(labels.Everything()); err != nil {
		return loop.Result{}, fmt.Errorf("listing DeviceTaintRules: %w", err)
	}
	status := decide.Status(input, now)
	if status == nil {
		return loop.Result{RequeueAfter: decide.Expiry(request).Sub(now)}, nil
	}
	answered := request.DeepCopy()
	answered.Status = status
	_, err = c.client.ResourceV1alpha3().ResourcePoolStatusRequests().UpdateStatus(ctx, answered, metav1.UpdateOptions{})
	c.metrics.answered(request.Spec.Driver, c.clock.Now().Sub(now), err)
	if err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("updating the status of ResourcePoolStatusRequest %s: %w", key.Name, err)
	}
	return loop.Result{}, nil
}

func (c *Controller) delete(ctx context.Context, request *resourcev1alpha3.ResourcePoolStatusRequest) error {
	if err := executor.DeleteSame(ctx, c.client.ResourceV1alpha3().ResourcePoolStatusRequests().Delete, request); err != nil {
		return fmt.Errorf("deleting ResourcePoolStatusRequest %s: %w", request.Name, err)
	}
	return nil
}
