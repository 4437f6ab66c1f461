package rootca

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/controllers/internal/rootca/decide"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "root-ca-certificate-publisher-controller"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Aliases: []string{"root-ca-cert-publisher"}, Account: "root-ca-cert-publisher",
		About:   "gives every namespace the certificate that the apiserver is verified by",
		Watches: []string{"namespaces", "configmaps"}, Writes: []string{"configmaps"},
		Docs:  "reference/access-authn-authz/certificate-signing-requests/",
		Build: build,
	}
}

// Controller maintains the ConfigMaps. Its keys are namespaces.
type Controller struct {
	client     kubernetes.Interface
	configMaps corelisters.ConfigMapLister
	ca         string
}

// build publishes the root certificates of the environment, or else those with which its own client verifies the apiserver.
func build(p *controller.Parts) error {
	ca, err := p.RootCertificates(p.Config)
	if err != nil {
		return err
	}
	if len(ca) == 0 {
		return errors.New("the client configuration has no CA certificates to publish")
	}
	namespaces, configMaps := p.Informers.Namespaces(), p.Informers.ConfigMaps()
	c := &Controller{client: p.Client, configMaps: configMaps.Lister(), ca: string(ca)}
	l := p.Loop(controller.Each(namespaces.Informer(), c.reconcile))
	l.Watch(namespaces.Informer(), loop.Present)
	l.Watch(configMaps.Informer(), wakeNamespaceOfConfigMap)
	return nil
}

func wakeNamespaceOfConfigMap(ev loop.Event) []types.NamespacedName {
	if ev.Type == loop.Added || ev.Object.GetName() != decide.ConfigMapName {
		return nil
	}
	return []types.NamespacedName{{Name: ev.Object.GetNamespace()}}
}

// reconcile writes the namespace's ConfigMap if it is missing or different.
func (c *Controller) reconcile(ctx context.Context, ns *corev1.Namespace) (loop.Result, error) {
	current, err := c.configMaps.ConfigMaps(ns.Name).Get(decide.ConfigMapName)
	if apierrors.IsNotFound(err) {
		current = nil
	} else if err != nil {
		return loop.Result{}, fmt.Errorf("getting config map %s/%s: %w", ns.Name, decide.ConfigMapName, err)
	}
	wanted, verb := decide.ConfigMap(ns, current, c.ca)
	switch verb {
	case decide.Create:
		_, err = c.client.CoreV1().ConfigMaps(ns.Name).Create(ctx, wanted, metav1.CreateOptions{})
	case decide.Update:
		_, err = c.client.CoreV1().ConfigMaps(ns.Name).Update(ctx, wanted, metav1.UpdateOptions{})
	default:
		return loop.Result{}, nil
	}
	if err != nil && !plan.NeedsNoRetry(err) {
		return loop.Result{}, fmt.Errorf("writing config map %s/%s: %w", ns.Name, decide.ConfigMapName, err)
	}
	return loop.Result{}, nil
}
