package serviceaccounttoken

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "serviceaccount-token-controller"

// workers is the default of upstream's --concurrent-serviceaccount-token-syncs.
const workers = 5

const noKey = "There is no key to sign tokens with: no secrets of service accounts are filled"

// Controller maintains the secrets. Its keys are secrets, with the name followed by a slash
// and the name of the account, which cannot be read from a secret that is gone.
type Controller struct {
	loop.Runner
	client   kubernetes.Interface
	secrets  corelisters.SecretLister
	accounts corelisters.ServiceAccountLister
	mint     func(account *corev1.ServiceAccount, secret string) (string, error)
	ca       []byte
	logger   klog.Logger
}

// New returns a controller. Run starts it. It signs tokens by the
// environment's MintToken.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	if e.MintToken == nil {
		return &Controller{Runner: loop.Idles(e.Logger, Name, noKey)}, nil
	}
	client, config, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	ca, err := e.RootCertificates(config)
	if err != nil {
		return nil, err
	}
	secrets, accounts := e.Informers.Secrets(), e.Informers.ServiceAccounts()
	c := &Controller{
		client: client, secrets: secrets.Lister(), accounts: accounts.Lister(),
		mint: e.MintToken, ca: ca, logger: e.Logger,
	}
	l := loop.New(e.Loop(Name, workers), c)
	l.Watch(secrets.Informer(), wakeSecret)
	l.Watch(accounts.Informer(), c.wakeSecretsOfAccount)
	c.Runner = loop.Runs(l)
	return c, nil
}

func keyOf(secret *corev1.Secret) types.NamespacedName {
	return types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name + "/" + secret.Annotations[corev1.ServiceAccountNameKey]}
}

func wakeSecret(ev loop.Event) []types.NamespacedName {
	secret, ok := ev.Object.(*corev1.Secret)
	if !ok || secret.Type != corev1.SecretTypeServiceAccountToken || secret.Annotations[corev1.ServiceAccountNameKey] == "" {
		return nil
	}
	return []types.NamespacedName{keyOf(secret)}
}

// wakeSecretsOfAccount enqueues the secrets of an account that is gone, or that has been
// replaced by another one of its name.
func (c *Controller) wakeSecretsOfAccount(ev loop.Event) []types.NamespacedName {
	gone := ev.Object
	if ev.Type != loop.Deleted {
		if ev.Old == nil || ev.Old.GetUID() == ev.Object.GetUID() {
			return nil
		}
		gone = ev.Old
	}
	account, ok := gone.(*corev1.ServiceAccount)
	if !ok {
		return nil
	}
	secrets, err := c.secrets.Secrets(account.Namespace).List(labels.Everything())
	if err != nil {
		c.logger.Error(err, "Listing the secrets of a service account", "namespace", account.Namespace)
		return nil
	}
	var keys []types.NamespacedName
	for _, secret := range secrets {
		if Belongs(secret, account) {
			keys = append(keys, keyOf(secret))
		}
	}
	return keys
}

// Reconcile fills a secret, deletes it, or removes it from its account.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	name, owner, _ := strings.Cut(key.Name, "/")
	secret, err := c.secrets.Secrets(key.Namespace).Get(name)
	switch {
	case apierrors.IsNotFound(err):
		return loop.Result{}, c.forget(ctx, key.Namespace, owner, name)
	case err != nil:
		return loop.Result{}, fmt.Errorf("getting secret %s/%s: %w", key.Namespace, name, err)
	case secret.Type != corev1.SecretTypeServiceAccountToken || secret.Annotations[corev1.ServiceAccountNameKey] != owner:
		return loop.Result{}, nil // replaced by another secret, which has its own key
	}
	account, err := c.account(ctx, key.Namespace, owner, secret)
	if err != nil {
		return loop.Result{}, err
	}
	if account == nil {
		return loop.Result{}, c.remove(ctx, secret)
	}
	return loop.Result{}, c.fill(ctx, secret, account)
}

// account returns the secret's account, or nil. It reads an account that is not in the
// cache from the API, because it may be newer than the cache.
func (c *Controller) account(ctx context.Context, namespace, name string, secret *corev1.Secret) (*corev1.ServiceAccount, error) {
	account, err := c.accounts.ServiceAccounts(namespace).Get(name)
	if err == nil && Belongs(secret, account) {
		return account, nil
	}
	account, err = c.client.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("getting service account %s/%s: %w", namespace, name, err)
	case !Belongs(secret, account):
		return nil, nil
	}
	return account, nil
}

func (c *Controller) fill(ctx context.Context, secret *corev1.Secret, account *corev1.ServiceAccount) error {
	wants := Lacking(secret, c.ca)
	if !wants.Any() {
		return nil
	}
	token := ""
	if wants.Token {
		var err error
		if token, err = c.mint(account, secret.Name); err != nil {
			return fmt.Errorf("making the token of secret %s/%s: %w", secret.Namespace, secret.Name, err)
		}
	}
	// With a stale cache the update fails with a conflict, and another event follows.
	_, err := c.client.CoreV1().Secrets(secret.Namespace).Update(ctx, Filled(secret, account, wants, c.ca, token), metav1.UpdateOptions{})
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("filling secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}

func (c *Controller) remove(ctx context.Context, secret *corev1.Secret) error {
	if err := executor.DeleteSame(ctx, c.client.CoreV1().Secrets(secret.Namespace).Delete, secret); err != nil {
		return fmt.Errorf("deleting secret %s/%s, whose service account is gone: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}

// forget removes a secret that is gone from its account's list. The loop retries after a
// conflict.
func (c *Controller) forget(ctx context.Context, namespace, owner, secret string) error {
	account, err := c.accounts.ServiceAccounts(namespace).Get(owner)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("getting service account %s/%s: %w", namespace, owner, err)
	}
	updated := Without(account, secret)
	if updated == nil {
		return nil
	}
	if _, err := c.client.CoreV1().ServiceAccounts(namespace).Update(ctx, updated, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("taking secret %s out of service account %s/%s: %w", secret, namespace, owner, err)
	}
	return nil
}
