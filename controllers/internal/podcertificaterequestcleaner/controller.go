package podcertificaterequestcleaner

import (
	"context"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "podcertificaterequest-cleaner-controller"

// keptFor is the time for which requests are kept, as upstream.
const keptFor = 15 * time.Minute

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Account: "podcertificaterequestcleaner",
		About:   "deletes requests for certificates of pods 15 minutes after their creation",
		Watches: []string{"podcertificaterequests"}, Writes: []string{"podcertificaterequests"},
		Docs:  "reference/access-authn-authz/certificate-signing-requests/#pod-certificate-requests",
		Build: build,
	}
}

// Controller deletes requests. Its keys are their names.
type Controller struct {
	client kubernetes.Interface
	clock  clock.Clock
}

func build(p *controller.Parts) error {
	requests := p.Informers.PodCertificateRequests()
	c := &Controller{client: p.Client, clock: p.Clock}
	l := p.Loop(controller.Each(requests.Informer(), c.reconcile))
	l.Watch(requests.Informer(), wakeAdded)
	return nil
}

// wakeAdded enqueues new requests. The time of creation, on which the decision depends, does
// not change, but an update may show a request that replaced another one.
func wakeAdded(ev loop.Event) []types.NamespacedName {
	if ev.Type == loop.Added || ev.Type == loop.Updated && ev.Old.GetUID() != ev.Object.GetUID() {
		return loop.Self(ev)
	}
	return nil
}

// reconcile deletes the request if it is old enough, and otherwise requeues it for that time.
func (c *Controller) reconcile(ctx context.Context, request *certificatesv1.PodCertificateRequest) (loop.Result, error) {
	key := loop.KeyOf(request)
	if remaining := request.CreationTimestamp.Add(keptFor).Sub(c.clock.Now()); remaining > 0 {
		return loop.Result{RequeueAfter: remaining}, nil
	}
	if err := executor.DeleteSame(ctx, c.client.CertificatesV1().PodCertificateRequests(request.Namespace).Delete, request); err != nil {
		return loop.Result{}, fmt.Errorf("deleting pod certificate request %s: %w", key, err)
	}
	return loop.Result{}, nil
}
