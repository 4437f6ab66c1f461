package cleaner

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/internal/loop"
)

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: "certificatesigningrequest-cleaner-controller", Aliases: []string{"csrcleaner"}, Account: "certificate-controller",
		About:   "deletes certificate signing requests that are no longer needed",
		Watches: []string{"certificatesigningrequests"}, Writes: []string{"certificatesigningrequests"},
		Docs:  "reference/access-authn-authz/certificate-signing-requests/",
		Build: build,
	}
}

// Controller deletes requests. Its keys are their names.
type Controller struct {
	client  kubernetes.Interface
	clock   clock.Clock
	machine clock.Clock
}

func build(p *controller.Parts) error {
	requests := p.Informers.CertificateSigningRequests()
	c := &Controller{client: p.Client, clock: p.Clock, machine: clock.Real()}
	l := p.Loop(controller.Each(requests.Informer(), c.reconcile))
	l.Watch(requests.Informer(), loop.Present)
	return nil
}

// reconcile deletes the request if it has expired, and otherwise requeues it for that time.
func (c *Controller) reconcile(ctx context.Context, request *certificatesv1.CertificateSigningRequest) (loop.Result, error) {
	now := c.clock.Now()
	goes, ok := Decide(request, now, c.machine.Now())
	switch {
	case !ok:
		return loop.Result{}, nil
	case now.Before(goes):
		return loop.Result{RequeueAfter: goes.Sub(now)}, nil
	}
	if err := executor.DeleteSame(ctx, c.client.CertificatesV1().CertificateSigningRequests().Delete, request); err != nil {
		return loop.Result{}, fmt.Errorf("deleting certificate signing request %s: %w", request.Name, err)
	}
	return loop.Result{}, nil
}
