package serviceaccounttoken

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/internal/loop"
)

const noKey = "There is no key to sign tokens with: no secrets of service accounts are filled"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: "serviceaccount-token-controller", Workers: 5, Aliases: []string{"serviceaccount-token"}, Account: "tokens-controller", OwnCredentials: true,
		About:   "fills secrets with the tokens of service accounts",
		Watches: []string{"secrets", "serviceaccounts"}, Writes: []string{"secrets", "serviceaccounts"},
		Docs: "reference/access-authn-authz/service-accounts-admin/#token-controller",
		Concurrency: controller.Concurrency{Flag: "concurrent-serviceaccount-token-syncs", What: "secrets of service accounts", In: func(s *controller.Settings) *int32 {
			return &s.SAController.ConcurrentSATokenSyncs
		}},
		Flags: flags,
		Idle: func(e *env.Env, _ *controller.Settings) string {
			if e.MintToken != nil {
				return ""
			}
			return noKey
		},
		Build: build,
	}
}

// Controller maintains the secrets. Its keys are secrets, with the name followed by a slash
// and the name of the account, which cannot be read from a secret that is gone.
type Controller struct {
	client   kubernetes.Interface
	secrets  corelisters.SecretLister
	accounts corelisters.ServiceAccountLister
	mint     func(account *corev1.ServiceAccount, secret string) (string, error)
	ca       []byte
	logger   klog.Logger
}

func build(p *controller.Parts) error {
	ca, err := p.RootCertificates(p.Config)
	if err != nil {
		return err
	}
	secrets, accounts := p.Informers.Secrets(), p.Informers.ServiceAccounts()
	c := &Controller{
		client: p.Client, secrets: secrets.Lister(), accounts: accounts.Lister(),
		mint: p.MintToken, ca: ca, logger: p.Logger,
	}
	l := p.Loop(c)
	l.Watch(secrets.Informer(), wakeSecret)
	l.Watch(accounts.Informer(), c.wakeSecretsOfAccount)
	return nil
}

// flags adds flags for files, which the process reads.
func flags(fs *pflag.FlagSet, s *controller.Settings) {
	c := &s.SAController
	fs.StringVar(&c.ServiceAccountKeyFile, "service-account-private-key-file", c.ServiceAccountKeyFile, "file of the private key, in PEM, that signs the tokens of service accounts")
	fs.StringVar(&c.RootCAFile, "root-ca-file", c.RootCAFile, "file of the certificates that go with the tokens, and that namespaces get (default the kubeconfig's)")
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

// forget removes a secret that is gone from its account's list. It reads the account from the API, as upstream: in
// the cache it may not list the secret yet, and no further event would follow. The loop retries after a conflict.
func (c *Controller) forget(ctx context.Context, namespace, owner, secret string) error {
	accounts := c.client.CoreV1().ServiceAccounts(namespace)
	account, err := accounts.Get(ctx, owner, metav1.GetOptions{})
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
	if _, err := accounts.Update(ctx, updated, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("taking secret %s out of service account %s/%s: %w", secret, namespace, owner, err)
	}
	return nil
}
