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
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/resourcepoolstatusrequest/decide"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/loop"
)

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: "resourcepoolstatusrequest-controller", Gate: featuregates.DRAResourcePoolStatus, Account: "resourcepoolstatusrequest-controller",
		About:   "answers ResourcePoolStatusRequests with the numbers of devices in pools, and deletes the requests an hour later",
		Watches: []string{"resourcepoolstatusrequests", "resourceslices", "resourceclaims", "devicetaintrules"},
		Writes:  []string{"resourcepoolstatusrequests", "resourcepoolstatusrequests/status"},
		Docs:    "reference/kubernetes-api/resource/resource-pool-status-request-v1alpha3/",
		Build:   build,
	}
}

// Controller answers and deletes requests. Its keys are their names.
type Controller struct {
	clock    clock.Clock
	client   kubernetes.Interface
	requests requestlisters.ResourcePoolStatusRequestLister
	slices   resourcelisters.ResourceSliceLister
	claims   resourcelisters.ResourceClaimLister
	rules    resourcelisters.DeviceTaintRuleLister
	metrics  *metrics
}

func build(p *controller.Parts) error {
	requests, slices := p.Informers.ResourcePoolStatusRequests(), p.Informers.ResourceSlices()
	claims, rules := p.Informers.ResourceClaims(), p.Informers.DeviceTaintRules()
	c := &Controller{
		clock: p.Clock, client: p.Client, metrics: newMetrics(p.Env),
		requests: requests.Lister(), slices: slices.Lister(), claims: claims.Lister(), rules: rules.Lister(),
	}
	l := p.Loop(controller.Each(requests.Informer(), c.reconcile))
	l.Watch(requests.Informer(), loop.Self)
	l.Watch(slices.Informer(), c.wakeWaiting)
	// Claims and rules wake nothing: a request is answered from their state at that time.
	l.Watch(claims.Informer(), loop.None)
	l.Watch(rules.Informer(), loop.None)
	return nil
}

// wakeWaiting enqueues the requests that have no answer, because a pool was not complete, and may get one by a
// slice of their driver.
func (c *Controller) wakeWaiting(ev loop.Event) []types.NamespacedName {
	slice, ok := ev.Object.(*resourcev1.ResourceSlice)
	if !ok {
		return nil
	}
	return loop.KeysOf(c.requests.List, func(r *resourcev1alpha3.ResourcePoolStatusRequest) bool {
		return r.Status == nil && r.Spec.Driver == slice.Spec.Driver
	})
}

// reconcile answers a request that has no status, and deletes it when its time is over.
func (c *Controller) reconcile(ctx context.Context, request *resourcev1alpha3.ResourcePoolStatusRequest) (loop.Result, error) {
	now := c.clock.Now()
	if left := decide.Expiry(request).Sub(now); left <= 0 {
		return loop.Result{}, c.delete(ctx, request)
	} else if request.Status != nil {
		return loop.Result{RequeueAfter: left}, nil
	}
	input := decide.Input{Request: request}
	var err error
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
		return loop.Result{}, fmt.Errorf("updating the status of ResourcePoolStatusRequest %s: %w", request.Name, err)
	}
	return loop.Result{}, nil
}

func (c *Controller) delete(ctx context.Context, request *resourcev1alpha3.ResourcePoolStatusRequest) error {
	if err := executor.DeleteSame(ctx, c.client.ResourceV1alpha3().ResourcePoolStatusRequests().Delete, request); err != nil {
		return fmt.Errorf("deleting ResourcePoolStatusRequest %s: %w", request.Name, err)
	}
	return nil
}
