package tokencleaner

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"k8s.io/cluster-bootstrap/util/secrets"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "token-cleaner-controller"

// workers is upstream's number.
const workers = 1

// Controller deletes expired tokens. Its keys are Secrets.
type Controller struct {
	client  kubernetes.Interface
	clock   clock.PassiveClock
	secrets corelisters.SecretLister
	loop    loop.Loop
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	secrets := e.Informers.Secrets()
	c := &Controller{client: client, clock: e.Clock, secrets: secrets.Lister()}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(secrets.Informer(), onSecret)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

func onSecret(ev loop.Event) []types.NamespacedName {
	if secret, ok := ev.Object.(*corev1.Secret); !ok || ev.Type == loop.Deleted || !isToken(secret) {
		return nil
	}
	return loop.Self(ev)
}

func isToken(secret *corev1.Secret) bool {
	return secret.Namespace == metav1.NamespaceSystem && secret.Type == bootstrapapi.SecretTypeBootstrapToken
}

// Reconcile deletes the token if it has expired, and otherwise requeues it for that time. A
// token that has been replaced is not deleted.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	secret, err := c.secrets.Secrets(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting Secret %s: %w", key, err)
	}
	left, expired := secrets.GetExpiration(secret, c.clock.Now())
	if !expired || !isToken(secret) {
		return loop.Result{RequeueAfter: left}, nil
	}
	if err := executor.DeleteSame(ctx, c.client.CoreV1().Secrets(key.Namespace).Delete, secret); err != nil {
		return loop.Result{}, fmt.Errorf("deleting the expired bootstrap token %s: %w", key, err)
	}
	return loop.Result{}, nil
}
