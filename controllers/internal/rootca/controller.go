package rootca

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/rootca/decide"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "root-ca-certificate-publisher-controller"

// Controller maintains the ConfigMaps. Its keys are namespaces.
type Controller struct {
	client     kubernetes.Interface
	namespaces corelisters.NamespaceLister
	configMaps corelisters.ConfigMapLister
	ca         string
	loop       loop.Loop
}

// New returns a controller that publishes the environment's root certificates, or else
// those with which its own client verifies the apiserver. It fails if there are neither.
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
		return nil, fmt.Errorf("%s: the client configuration has no CA certificates to publish", Name)
	}
	namespaces, configMaps := e.Informers.Namespaces(), e.Informers.ConfigMaps()
	c := &Controller{client: client, namespaces: namespaces.Lister(), configMaps: configMaps.Lister(), ca: string(ca)}
	c.loop = loop.New(e.Loop(Name, 1), c)
	c.loop.Watch(namespaces.Informer(), wakeNamespace)
	c.loop.Watch(configMaps.Informer(), wakeNamespaceOfConfigMap)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

func wakeNamespace(ev loop.Event) []types.NamespacedName {
	if ev.Type == loop.Deleted {
		return nil
	}
	return []types.NamespacedName{{Name: ev.Object.GetName()}}
}

func wakeNamespaceOfConfigMap(ev loop.Event) []types.NamespacedName {
	if ev.Type == loop.Added || ev.Object.GetName() != decide.ConfigMapName {
		return nil
	}
	return []types.NamespacedName{{Name: ev.Object.GetNamespace()}}
}

// Reconcile writes the namespace's ConfigMap if it is missing or different.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	ns, err := c.namespaces.Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting namespace %s: %w", key.Name, err)
	}
	current, err := c.configMaps.ConfigMaps(key.Name).Get(decide.ConfigMapName)
	if apierrors.IsNotFound(err) {
		current = nil
	} else if err != nil {
		return loop.Result{}, fmt.Errorf("getting config map %s/%s: %w", key.Name, decide.ConfigMapName, err)
	}
	wanted, verb := decide.ConfigMap(ns, current, c.ca)
	switch verb {
	case decide.Create:
		_, err = c.client.CoreV1().ConfigMaps(key.Name).Create(ctx, wanted, metav1.CreateOptions{})
	case decide.Update:
		_, err = c.client.CoreV1().ConfigMaps(key.Name).Update(ctx, wanted, metav1.UpdateOptions{})
	default:
		return loop.Result{}, nil
	}
	if err != nil && !done(err) {
		return loop.Result{}, fmt.Errorf("writing config map %s/%s: %w", key.Name, decide.ConfigMapName, err)
	}
	return loop.Result{}, nil
}

// done reports whether the error needs no retry: the cache was stale and an event follows,
// or the namespace is being deleted.
func done(err error) bool {
	return apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || apierrors.IsNotFound(err)
}
