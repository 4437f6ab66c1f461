package legacyserviceaccounttokencleaner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/legacyserviceaccounttokencleaner/decide"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/podreferences"
)

// Upstream's values.
const (
	// interval is the time between two passes over the secrets.
	interval = 24 * time.Hour
	// cleanUpPeriod is the time without use after which a token is marked as invalid, and
	// that after which a marked one is deleted.
	cleanUpPeriod = 365 * 24 * time.Hour
)

// The ConfigMap in kube-system in which the API server records the day since which it
// records the use of tokens.
const (
	trackingConfigMap = "kube-apiserver-legacy-service-account-token-tracking"
	trackingKey       = "since"
)

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: "legacy-serviceaccount-token-cleaner-controller", Aliases: []string{"legacy-service-account-token-cleaner"}, Account: "legacy-service-account-token-cleaner",
		About:   "deletes generated tokens of service accounts that have not been used for a year",
		Watches: []string{"secrets", "serviceaccounts", "pods"}, Writes: []string{"secrets"},
		Docs:     "reference/access-authn-authz/service-accounts-admin/#legacy-serviceaccount-token-cleaner",
		Defaults: func(s *controller.Settings) { s.LegacySATokenCleaner.CleanUpPeriod.Duration = cleanUpPeriod },
		Flags: func(fs *pflag.FlagSet, s *controller.Settings) {
			c := &s.LegacySATokenCleaner
			fs.DurationVar(&c.CleanUpPeriod.Duration, "legacy-service-account-token-clean-up-period", c.CleanUpPeriod.Duration, "time without use after which a generated token of a service account is marked as invalid, and then deleted")
		},
		Build: build,
	}
}

// Controller cleans the secrets. Its only key stands for a pass over all of them.
type Controller struct {
	client   kubernetes.Interface
	clock    clock.PassiveClock
	logger   klog.Logger
	period   time.Duration
	accounts corelisters.ServiceAccountLister
	secrets  corelisters.SecretLister
	pods     corelisters.PodLister
}

func build(p *controller.Parts) error {
	period := p.Settings.LegacySATokenCleaner.CleanUpPeriod.Duration
	if period <= 0 {
		return errors.New("the clean-up period must be positive")
	}
	c := &Controller{
		client: p.Client, clock: p.Clock, logger: p.Logger, period: period,
		accounts: p.Informers.ServiceAccounts().Lister(), secrets: p.Informers.Secrets().Lister(), pods: p.Informers.Pods().Lister(),
	}
	l := p.Loop(c)
	// The passes need complete caches, but no event is a reason for one.
	l.Watch(p.Informers.ServiceAccounts().Informer(), loop.None)
	l.Watch(p.Informers.Secrets().Informer(), loop.None)
	l.Watch(p.Informers.Pods().Informer(), loop.None)
	p.Before(func(context.Context) error {
		l.Add(types.NamespacedName{})
		return nil
	})
	return nil
}

// Reconcile passes over all secrets, and requeues itself for the next day. The key has no
// meaning.
func (c *Controller) Reconcile(ctx context.Context, _ types.NamespacedName) (loop.Result, error) {
	again, now := loop.Result{RequeueAfter: interval}, c.clock.Now()
	tracking, err := c.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, trackingConfigMap, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("getting config map %s/%s: %w", metav1.NamespaceSystem, trackingConfigMap, err)
	}
	tracked := false
	if err == nil {
		tracked, err = decide.Tracked(tracking.Data[trackingKey], c.period, now)
	}
	if err != nil {
		c.logger.Error(err, "Keeping the tokens of service accounts, because it is unknown since when their use is recorded")
	}
	if !tracked {
		return again, nil
	}
	return again, c.clean(ctx, now)
}

// clean marks and deletes secrets. It goes on after an error.
func (c *Controller) clean(ctx context.Context, now time.Time) error {
	all, err := c.secrets.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("listing secrets: %w", err)
	}
	mounted := mounts{pods: c.pods, secrets: map[string]sets.Set[string]{}}
	var errs []error
	for _, secret := range all {
		unused, err := decide.Unused(secret, c.period, now)
		if err != nil {
			c.logger.Error(err, "Keeping a token whose last use is unknown")
		}
		if !unused {
			continue
		}
		errs = append(errs, c.cleanOne(ctx, secret, &mounted, now))
	}
	return errors.Join(errs...)
}

func (c *Controller) cleanOne(ctx context.Context, secret *corev1.Secret, mounted *mounts, now time.Time) error {
	account, err := c.accountOf(secret)
	if err != nil || account == nil {
		return err
	}
	isMounted, err := mounted.has(secret)
	if err != nil {
		return err
	}
	switch decide.Secret(secret, account, isMounted, c.period, now) {
	case decide.Mark:
		return c.mark(ctx, secret, now)
	case decide.Delete:
		// The next pass decides about a secret that has changed.
		if err := executor.DeleteUnchanged(ctx, c.client.CoreV1().Secrets(secret.Namespace).Delete, secret); err != nil {
			return fmt.Errorf("deleting the unused token %s/%s: %w", secret.Namespace, secret.Name, err)
		}
	}
	return nil
}

// accountOf returns the service account that the secret's annotation names, or nil.
func (c *Controller) accountOf(secret *corev1.Secret) (*corev1.ServiceAccount, error) {
	account, err := c.accounts.ServiceAccounts(secret.Namespace).Get(secret.Annotations[corev1.ServiceAccountNameKey])
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting the service account of secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return account, nil
}

func (c *Controller) mark(ctx context.Context, secret *corev1.Secret, now time.Time) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": secret.UID, "labels": map[string]string{decide.InvalidSinceLabel: decide.Today(now)},
	}})
	if err != nil {
		return fmt.Errorf("encoding the patch of secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	_, err = c.client.CoreV1().Secrets(secret.Namespace).Patch(ctx, secret.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	// A conflict means that the secret has been replaced.
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("marking the unused token %s/%s as invalid: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}

// mounts caches the secrets that pods refer to, for the namespaces that were queried.
type mounts struct {
	pods    corelisters.PodLister
	secrets map[string]sets.Set[string]
}

// has reports whether a pod refers to the secret.
func (m *mounts) has(secret *corev1.Secret) (bool, error) {
	names, ok := m.secrets[secret.Namespace]
	if !ok {
		pods, err := m.pods.Pods(secret.Namespace).List(labels.Everything())
		if err != nil {
			return false, fmt.Errorf("listing the pods of namespace %s: %w", secret.Namespace, err)
		}
		names = sets.New[string]()
		for _, pod := range pods {
			names.Insert(podreferences.Secrets(pod)...)
		}
		m.secrets[secret.Namespace] = names
	}
	return names.Has(secret.Name), nil
}
