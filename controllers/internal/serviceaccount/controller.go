package serviceaccount

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
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "serviceaccount-controller"

// Controller creates missing service accounts. Its keys are namespaces.
type Controller struct {
	client     kubernetes.Interface
	namespaces corelisters.NamespaceLister
	accounts   corelisters.ServiceAccountLister
	loop       loop.Loop
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	namespaces, accounts := e.Informers.Namespaces(), e.Informers.ServiceAccounts()
	c := &Controller{client: client, namespaces: namespaces.Lister(), accounts: accounts.Lister()}
	c.loop = loop.New(e.Loop(Name, 1), c)
	c.loop.Watch(namespaces.Informer(), wakeNamespace)
	c.loop.Watch(accounts.Informer(), wakeNamespaceOfAccount)
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

// wakeNamespaceOfAccount enqueues a namespace whose service account was deleted.
func wakeNamespaceOfAccount(ev loop.Event) []types.NamespacedName {
	if ev.Type != loop.Deleted || ev.Object.GetName() != DefaultName {
		return nil
	}
	return []types.NamespacedName{{Name: ev.Object.GetNamespace()}}
}

// Reconcile creates the missing service accounts of the namespace.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	ns, err := c.namespaces.Get(key.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("getting namespace %s: %w", key.Name, err)
	}
	if err != nil {
		ns = nil
	}
	missing := Missing(ns, func(name string) bool {
		_, err := c.accounts.ServiceAccounts(key.Name).Get(name)
		return err == nil
	})
	for _, account := range missing {
		_, err := c.client.CoreV1().ServiceAccounts(account.Namespace).Create(ctx, account, metav1.CreateOptions{})
		if err != nil && !done(err) {
			return loop.Result{}, fmt.Errorf("creating service account %s/%s: %w", account.Namespace, account.Name, err)
		}
	}
	return loop.Result{}, nil
}

// done reports whether the error needs no retry: the account exists, or the namespace is
// being deleted or gone.
func done(err error) bool {
	return apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || apierrors.IsNotFound(err)
}
