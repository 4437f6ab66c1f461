package podcertificaterequestcleaner

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	certificateslisters "k8s.io/client-go/listers/certificates/v1"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller, and workers its number of workers.
const (
	Name    = "podcertificaterequest-cleaner-controller"
	workers = 1
)

// keptFor is the time for which requests are kept, as upstream.
const keptFor = 15 * time.Minute

// Controller deletes requests. Its keys are their names.
type Controller struct {
	client   kubernetes.Interface
	requests certificateslisters.PodCertificateRequestLister
	clock    clock.Clock
	loop     loop.Loop
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	requests := e.Informers.PodCertificateRequests()
	c := &Controller{client: client, requests: requests.Lister(), clock: e.Clock}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(requests.Informer(), wakeAdded)
	return c, nil
}

// wakeAdded enqueues new requests. The time of creation, on which the decision depends, does
// not change, but an update may show a request that replaced another one.
func wakeAdded(ev loop.Event) []types.NamespacedName {
	if ev.Type == loop.Added || ev.Type == loop.Updated && ev.Old.GetUID() != ev.Object.GetUID() {
		return loop.Self(ev)
	}
	return nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

// Reconcile deletes the request if it is old enough, and otherwise requeues it for that time.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	request, err := c.requests.PodCertificateRequests(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting pod certificate request %s: %w", key, err)
	}
	if remaining := request.CreationTimestamp.Add(keptFor).Sub(c.clock.Now()); remaining > 0 {
		return loop.Result{RequeueAfter: remaining}, nil
	}
	if err := executor.DeleteSame(ctx, c.client.CertificatesV1().PodCertificateRequests(key.Namespace).Delete, request); err != nil {
		return loop.Result{}, fmt.Errorf("deleting pod certificate request %s: %w", key, err)
	}
	return loop.Result{}, nil
}
