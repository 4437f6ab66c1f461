package cleaner

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	certificateslisters "k8s.io/client-go/listers/certificates/v1"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/certificates"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "certificatesigningrequest-cleaner-controller"

// Controller deletes requests. Its keys are their names.
type Controller struct {
	client   kubernetes.Interface
	requests certificateslisters.CertificateSigningRequestLister
	clock    clock.Clock
	machine  clock.Clock
	loop     loop.Loop
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	requests := e.Informers.CertificateSigningRequests()
	c := &Controller{client: client, requests: requests.Lister(), clock: e.Clock, machine: clock.Real()}
	c.loop = loop.New(e.Loop(Name, 1), c)
	c.loop.Watch(requests.Informer(), certificates.Wake)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

// Reconcile deletes the request if it has expired, and otherwise requeues it for that time.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	request, err := c.requests.Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting certificate signing request %s: %w", key.Name, err)
	}
	now := c.clock.Now()
	goes, ok := Decide(request, now, c.machine.Now())
	switch {
	case !ok:
		return loop.Result{}, nil
	case now.Before(goes):
		return loop.Result{RequeueAfter: goes.Sub(now)}, nil
	}
	if err := executor.DeleteSame(ctx, c.client.CertificatesV1().CertificateSigningRequests().Delete, request); err != nil {
		return loop.Result{}, fmt.Errorf("deleting certificate signing request %s: %w", key.Name, err)
	}
	return loop.Result{}, nil
}
