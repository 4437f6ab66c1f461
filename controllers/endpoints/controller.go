package endpoints

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"
	endpointsliceutil "k8s.io/endpointslice/util"

	"minikcm.dev/minikcm/controllers/endpoints/decide"
	"minikcm.dev/minikcm/controllers/endpointslice/selection"
	"minikcm.dev/minikcm/controllers/env"
	"minikcm.dev/minikcm/controllers/loop"
)

// Name is upstream's name of the controller.
const Name = "endpoints-controller"

const (
	eventSource = "endpoint-controller"
	workers     = 5
)

// Controller writes Endpoints. Its keys are services.
type Controller struct {
	client    kubernetes.Interface
	services  corelisters.ServiceLister
	endpoints corelisters.EndpointsLister
	selection *selection.Selection
	batch     selection.Batch
	triggers  *endpointsliceutil.TriggerTimeTracker
	events    record.EventRecorder
	loop      *loop.Loop
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	core := e.Informers.Core().V1()
	selected, err := selection.New(core.Pods().Informer(), core.Services().Informer())
	if err != nil {
		return nil, fmt.Errorf("preparing %s: %w", Name, err)
	}
	c := &Controller{
		client:    client,
		services:  core.Services().Lister(),
		endpoints: core.Endpoints().Lister(),
		selection: selected,
		triggers:  endpointsliceutil.NewTriggerTimeTracker(),
		events:    e.Recorder.For(eventSource),
	}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(core.Services().Informer(), loop.Self)
	c.loop.Watch(core.Pods().Informer(), c.wakeForPod)
	c.loop.Watch(core.Endpoints().Informer(), wakeForEndpoints)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

// wakeForPod enqueues the services of a pod: small ones at once, large ones after a delay
// in which more events may arrive.
func (c *Controller) wakeForPod(ev loop.Event) []types.NamespacedName {
	return c.batch.Wake(c.selection.Wake(ev), ev, c.loop.AddAfter)
}

// wakeForEndpoints enqueues deleted objects, to create them again, and once the
// controller's own objects that existed before, because their service may be gone. It
// ignores objects that other clients created without a service.
func wakeForEndpoints(ev loop.Event) []types.NamespacedName {
	ours := decide.Managed(ev.Object)
	if ev.Type == loop.Deleted || ev.Type == loop.Added && ours {
		return loop.Self(ev)
	}
	return nil
}

// Reconcile updates the Endpoints of one service.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	current, err := c.endpoints.Endpoints(key.Namespace).Get(key.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("getting endpoints %s: %w", key, err)
	}
	if err != nil {
		current = nil
	}
	service, err := c.services.Services(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, c.forget(ctx, key, current)
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting service %s: %w", key, err)
	}
	if service.Spec.Selector == nil {
		return loop.Result{}, nil // its endpoints are written by other clients
	}
	pods, err := c.selection.Pods(key.Namespace, service.Spec.Selector)
	if err != nil {
		return loop.Result{}, err
	}
	c.batch.Computed(key, len(pods))
	trigger := c.triggers.ComputeEndpointLastChangeTriggerTime(key.Namespace, service, pods)
	desired := decide.Endpoints(service, pods, current, trigger)
	if desired == nil {
		return loop.Result{}, nil
	}
	return loop.Result{}, c.write(ctx, key, desired)
}

// forget deletes the object of a service that is gone, as upstream does, even if another
// client wrote it.
func (c *Controller) forget(ctx context.Context, key types.NamespacedName, current *corev1.Endpoints) error {
	c.batch.Computed(key, 0)
	c.triggers.DeleteService(key.Namespace, key.Name)
	if current == nil {
		return nil
	}
	err := c.client.CoreV1().Endpoints(key.Namespace).Delete(ctx, key.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &current.UID},
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting endpoints %s: %w", key, err)
	}
	return nil
}

func (c *Controller) write(ctx context.Context, key types.NamespacedName, desired *corev1.Endpoints) error {
	endpoints := c.client.CoreV1().Endpoints(key.Namespace)
	if desired.ResourceVersion == "" {
		_, err := endpoints.Create(ctx, desired, metav1.CreateOptions{})
		switch {
		case err == nil, apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			return nil
		case ctx.Err() == nil:
			c.events.Eventf(desired, corev1.EventTypeWarning, "FailedToCreateEndpoint", "Failed to create endpoint for service %v: %v", key, err)
		}
		return fmt.Errorf("creating endpoints %s: %w", key, err)
	}
	_, err := endpoints.Update(ctx, desired, metav1.UpdateOptions{})
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		// The cache is stale: its next event, or the retry, uses the current object.
	case ctx.Err() == nil:
		c.events.Eventf(desired, corev1.EventTypeWarning, "FailedToUpdateEndpoint", "Failed to update endpoint %v: %v", key, err)
	}
	return fmt.Errorf("updating endpoints %s: %w", key, err)
}
