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
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/trustbundlepublisher/decide"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "kube-apiserver-serving-clustertrustbundle-publisher-controller"

const noCA = "no certificates that the API server is verified by are configured"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Account: "kube-apiserver-serving-clustertrustbundle-publisher",
		About:   "publishes the certificates that the apiserver is verified by in a ClusterTrustBundle",
		Watches: []string{"clustertrustbundles"}, Writes: []string{"clustertrustbundles"},
		Docs: "reference/access-authn-authz/certificate-signing-requests/#cluster-trust-bundles",
		Idle: func(e *env.Env, _ *controller.Settings) string {
			if ca, err := e.RootCertificates(rest.CopyConfig(e.Config)); err == nil && len(ca) == 0 {
				return noCA
			}
			return ""
		},
		Build: build,
	}
}

// Controller maintains the bundle. Its only key stands for all bundles of the signer.
type Controller struct {
	client  kubernetes.Interface
	bundles certificateslisters.ClusterTrustBundleLister
	ca      string
}

func build(p *controller.Parts) error {
	ca, err := p.RootCertificates(p.Config)
	if err != nil {
		return err
	}
	bundles := p.Informers.ClusterTrustBundles()
	c := &Controller{client: p.Client, bundles: bundles.Lister(), ca: string(ca)}
	l := p.Loop(c)
	l.Watch(bundles.Informer(), wakeForBundle)
	p.Before(func(context.Context) error {
		l.Add(types.NamespacedName{})
		return nil
	})
	return nil
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
