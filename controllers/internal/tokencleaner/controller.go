package tokencleaner

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"k8s.io/cluster-bootstrap/util/secrets"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "token-cleaner-controller"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Aliases: []string{"tokencleaner"}, DisabledByDefault: true, Account: "token-cleaner",
		About:   "deletes expired bootstrap tokens",
		Watches: []string{"secrets"}, Writes: []string{"secrets"},
		Docs:  "reference/access-authn-authz/bootstrap-tokens/",
		Build: build,
	}
}

// Controller deletes expired tokens. Its keys are Secrets.
type Controller struct {
	client kubernetes.Interface
	clock  clock.PassiveClock
}

func build(p *controller.Parts) error {
	secrets := p.Informers.Secrets()
	c := &Controller{client: p.Client, clock: p.Clock}
	l := p.Loop(controller.Each(secrets.Informer(), c.reconcile))
	l.Watch(secrets.Informer(), onSecret)
	return nil
}

func onSecret(ev loop.Event) []types.NamespacedName {
	if secret, ok := ev.Object.(*corev1.Secret); !ok || ev.Type == loop.Deleted || !isToken(secret) {
		return nil
	}
	return loop.Self(ev)
}

func isToken(secret *corev1.Secret) bool {
	return secret.Namespace == metav1.NamespaceSystem && secret.Type == bootstrapapi.SecretTypeBootstrapToken
}

// reconcile deletes the token if it has expired, and otherwise requeues it for that time. A
// token that has been replaced is not deleted.
func (c *Controller) reconcile(ctx context.Context, secret *corev1.Secret) (loop.Result, error) {
	key := loop.KeyOf(secret)
	left, expired := secrets.GetExpiration(secret, c.clock.Now())
	if !expired || !isToken(secret) {
		return loop.Result{RequeueAfter: left}, nil
	}
	if err := executor.DeleteSame(ctx, c.client.CoreV1().Secrets(secret.Namespace).Delete, secret); err != nil {
		return loop.Result{}, fmt.Errorf("deleting the expired bootstrap token %s: %w", key, err)
	}
	return loop.Result{}, nil
}
