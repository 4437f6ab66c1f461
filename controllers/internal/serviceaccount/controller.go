package serviceaccount

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "serviceaccount-controller"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Aliases: []string{"serviceaccount"}, Account: "service-account-controller",
		About:   "gives every namespace its service account default",
		Watches: []string{"namespaces", "serviceaccounts"}, Writes: []string{"serviceaccounts"},
		Docs:  "reference/access-authn-authz/service-accounts-admin/#serviceaccount-controller",
		Build: build,
	}
}

// Controller creates missing service accounts. Its keys are namespaces.
type Controller struct {
	client     kubernetes.Interface
	namespaces corelisters.NamespaceLister
	accounts   corelisters.ServiceAccountLister
}

func build(p *controller.Parts) error {
	namespaces, accounts := p.Informers.Namespaces(), p.Informers.ServiceAccounts()
	c := &Controller{client: p.Client, namespaces: namespaces.Lister(), accounts: accounts.Lister()}
	l := p.Loop(c)
	l.Watch(namespaces.Informer(), loop.Present)
	l.Watch(accounts.Informer(), wakeNamespaceOfAccount)
	return nil
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
		if err != nil && !plan.NeedsNoRetry(err) {
			return loop.Result{}, fmt.Errorf("creating service account %s/%s: %w", account.Namespace, account.Name, err)
		}
	}
	return loop.Result{}, nil
}
