package bootstrapsigner

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/internal/bootstrapsigner/decide"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "bootstrap-signer-controller"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Aliases: []string{"bootstrapsigner"}, DisabledByDefault: true, Account: "bootstrap-signer",
		About:   "signs the ConfigMap kube-public/cluster-info with bootstrap tokens",
		Watches: []string{"configmaps", "secrets"}, Writes: []string{"configmaps"},
		Docs:  "reference/access-authn-authz/bootstrap-tokens/",
		Build: build,
	}
}

// Controller signs the ConfigMap, which is its only key.
type Controller struct {
	client  kubernetes.Interface
	clock   clock.PassiveClock
	secrets corelisters.SecretLister
}

func build(p *controller.Parts) error {
	infos, secrets := p.Informers.ConfigMaps(), p.Informers.Secrets()
	c := &Controller{client: p.Client, clock: p.Clock, secrets: secrets.Lister()}
	l := p.Loop(controller.Each(infos.Informer(), c.reconcile))
	l.Watch(infos.Informer(), onInfo)
	l.Watch(secrets.Informer(), onSecret)
	return nil
}

func infoKey() types.NamespacedName {
	return types.NamespacedName{Namespace: metav1.NamespacePublic, Name: bootstrapapi.ConfigMapClusterInfo}
}

func onInfo(ev loop.Event) []types.NamespacedName {
	if key := infoKey(); ev.Type != loop.Deleted && ev.Object.GetNamespace() == key.Namespace && ev.Object.GetName() == key.Name {
		return []types.NamespacedName{key}
	}
	return nil
}

func onSecret(ev loop.Event) []types.NamespacedName {
	secret, ok := ev.Object.(*corev1.Secret)
	if !ok || secret.Namespace != metav1.NamespaceSystem || secret.Type != bootstrapapi.SecretTypeBootstrapToken {
		return nil
	}
	return []types.NamespacedName{infoKey()}
}

// reconcile updates the signatures. A conflict needs no retry: the change that it is with
// wakes the key.
func (c *Controller) reconcile(ctx context.Context, info *corev1.ConfigMap) (loop.Result, error) {
	key := loop.KeyOf(info)
	tokens, err := c.secrets.Secrets(metav1.NamespaceSystem).List(labels.Everything())
	if err != nil {
		return loop.Result{}, fmt.Errorf("listing bootstrap tokens: %w", err)
	}
	data, changed, err := decide.Signatures(info, tokens, c.clock.Now())
	if err != nil || !changed {
		return loop.Result{}, err
	}
	signed := info.DeepCopy()
	signed.Data = data
	_, err = c.client.CoreV1().ConfigMaps(info.Namespace).Update(ctx, signed, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("updating the signatures of ConfigMap %s: %w", key, err)
	}
	return loop.Result{}, nil
}
