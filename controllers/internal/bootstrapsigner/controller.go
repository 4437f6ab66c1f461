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
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "bootstrap-signer-controller"

// workers is upstream's number: there is one key.
const workers = 1

// Controller signs the ConfigMap, which is its only key.
type Controller struct {
	client  kubernetes.Interface
	clock   clock.PassiveClock
	infos   corelisters.ConfigMapLister
	secrets corelisters.SecretLister
	loop    loop.Loop
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	infos, secrets := e.Informers.ConfigMaps(), e.Informers.Secrets()
	c := &Controller{client: client, clock: e.Clock, infos: infos.Lister(), secrets: secrets.Lister()}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(infos.Informer(), onInfo)
	c.loop.Watch(secrets.Informer(), onSecret)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

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

// Reconcile updates the signatures. A conflict needs no retry: the change that it is with
// wakes the key.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	info, err := c.infos.ConfigMaps(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting ConfigMap %s: %w", key, err)
	}
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
	_, err = c.client.CoreV1().ConfigMaps(key.Namespace).Update(ctx, signed, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("updating the signatures of ConfigMap %s: %w", key, err)
	}
	return loop.Result{}, nil
}
