package trustbundlepublisher

import (
	"context"
	"errors"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	certificateslisters "k8s.io/client-go/listers/certificates/v1"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/trustbundlepublisher/decide"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller, and workers its number of workers.
const (
	Name    = "kube-apiserver-serving-clustertrustbundle-publisher-controller"
	workers = 1
)

const noCA = "no certificates that the API server is verified by are configured"

// Controller maintains the bundle. Its only key stands for all bundles of the signer.
type Controller struct {
	client  kubernetes.Interface
	bundles certificateslisters.ClusterTrustBundleLister
	ca      string
	add     func()
	loop.Runner
}

// New returns a controller that publishes the environment's root certificates, or else those
// with which its own client verifies the API server.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, config, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	ca, err := e.RootCertificates(config)
	if err != nil {
		return nil, err
	}
	if len(ca) == 0 {
		return &Controller{Runner: loop.Idles(e.Logger, Name, noCA)}, nil
	}
	bundles := e.Informers.ClusterTrustBundles()
	c := &Controller{client: client, bundles: bundles.Lister(), ca: string(ca)}
	l := loop.New(e.Loop(Name, workers), c)
	l.Watch(bundles.Informer(), wakeForBundle)
	c.add = func() { l.Add(types.NamespacedName{}) }
	c.Runner = loop.Runs(l)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	if c.add != nil {
		c.add()
	}
	return c.Runner.Run(ctx)
}

func wakeForBundle(ev loop.Event) []types.NamespacedName {
	if bundle, ok := ev.Object.(*certificatesv1.ClusterTrustBundle); ok && bundle.Spec.SignerName == decide.Signer {
		return []types.NamespacedName{{}}
	}
	return nil
}

// Reconcile writes the bundles of the signer. The key has no meaning.
func (c *Controller) Reconcile(ctx context.Context, _ types.NamespacedName) (loop.Result, error) {
	existing, err := c.bundles.List(labels.Everything())
	if err != nil {
		return loop.Result{}, fmt.Errorf("listing cluster trust bundles: %w", err)
	}
	client, d := c.client.CertificatesV1().ClusterTrustBundles(), decide.TrustBundles(existing, c.ca)
	if d.Create != nil {
		if _, err := client.Create(ctx, d.Create, metav1.CreateOptions{}); err != nil {
			return loop.Result{}, fmt.Errorf("creating cluster trust bundle %s: %w", d.Create.Name, err)
		}
	}
	if d.Update != nil {
		if _, err := client.Update(ctx, d.Update, metav1.UpdateOptions{}); err != nil {
			return loop.Result{}, fmt.Errorf("updating cluster trust bundle %s: %w", d.Update.Name, err)
		}
	}
	var errs []error
	for _, name := range d.Delete {
		if err := client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("deleting the outdated cluster trust bundle %s: %w", name, err))
		}
	}
	return loop.Result{}, errors.Join(errs...)
}
