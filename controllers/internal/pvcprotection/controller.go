package pvcprotection

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

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/protection/guard"
	"minikcm.dev/minikcm/controllers/internal/pvcprotection/decide"
	"minikcm.dev/minikcm/controllers/internal/volumeindex"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller, and workers its default.
const (
	Name    = "persistentvolumeclaim-protection-controller"
	workers = 30
)

// Controller protects claims. Its keys are claims.
type Controller struct {
	clock clock.Clock
	api   api
	kind  guard.Kind[*corev1.PersistentVolumeClaim]
	pods  corelisters.PodLister
	loop  loop.Loop
}

// api is the part of the Kubernetes API that the controller uses.
type api interface {
	// Pods lists the pods in a namespace, without a cache.
	Pods(ctx context.Context, namespace string) ([]*corev1.Pod, error)
	Update(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error)
	UpdateStatus(ctx context.Context, claim *corev1.PersistentVolumeClaim) error
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	c := newController(e.Clock, clientAPI{client}, e.Informers.PersistentVolumeClaims().Lister(), e.Informers.Pods().Lister())
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(e.Informers.PersistentVolumeClaims().Informer(), loop.Self)
	c.loop.Watch(e.Informers.Pods().Informer(), wakeForPod)
	return c, nil
}

func newController(clock clock.Clock, api api, claims corelisters.PersistentVolumeClaimLister, pods corelisters.PodLister) *Controller {
	c := &Controller{clock: clock, api: api, pods: pods}
	c.kind = guard.Kind[*corev1.PersistentVolumeClaim]{
		Noun: "claim", Finalizer: decide.Finalizer, Used: c.used, Update: api.Update,
		Get: func(key types.NamespacedName) (*corev1.PersistentVolumeClaim, error) {
			return claims.PersistentVolumeClaims(key.Namespace).Get(key.Name)
		},
	}
	return c
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

// wakeForPod enqueues the claims of a pod.
func wakeForPod(ev loop.Event) []types.NamespacedName {
	pod, ok := ev.Object.(*corev1.Pod)
	if !ok {
		return nil
	}
	return volumeindex.ClaimsOf(pod)
}

// Reconcile updates one claim.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	claim, ok, err := c.kind.Reconcile(ctx, key)
	if !ok || err != nil {
		return loop.Result{}, err
	}
	pods, err := c.pods.Pods(key.Namespace).List(labels.Everything())
	if err != nil {
		return loop.Result{}, fmt.Errorf("listing the pods in namespace %s: %w", key.Namespace, err)
	}
	condition := decide.Condition(claim, pods, c.clock.Now())
	if condition == nil {
		return loop.Result{}, nil
	}
	changed := claim.DeepCopy()
	setCondition(&changed.Status, *condition)
	if err := c.api.UpdateStatus(ctx, changed); err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("updating the status of claim %s: %w", key, err)
	}
	return loop.Result{}, nil
}

// used reports whether a pod uses a claim. If no pod of the cache does, it asks the API: the
// cache may not have a pod yet that was scheduled just now.
func (c *Controller) used(ctx context.Context, claim *corev1.PersistentVolumeClaim) (bool, error) {
	pods, err := c.pods.Pods(claim.Namespace).List(labels.Everything())
	if err == nil && !decide.InUse(claim, pods) {
		pods, err = c.api.Pods(ctx, claim.Namespace)
	}
	if err != nil {
		return false, fmt.Errorf("listing the pods in namespace %s: %w", claim.Namespace, err)
	}
	return decide.InUse(claim, pods), nil
}

// clientAPI is the API through a client.
type clientAPI struct{ kubernetes.Interface }

func (a clientAPI) Pods(ctx context.Context, namespace string) ([]*corev1.Pod, error) {
	list, err := a.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, nil
}

func (a clientAPI) Update(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	return a.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(ctx, claim, metav1.UpdateOptions{})
}

func (a clientAPI) UpdateStatus(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	_, err := a.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	return err
}

func setCondition(status *corev1.PersistentVolumeClaimStatus, wanted corev1.PersistentVolumeClaimCondition) {
	for i := range status.Conditions {
		if status.Conditions[i].Type == wanted.Type {
			status.Conditions[i] = wanted
			return
		}
	}
	status.Conditions = append(status.Conditions, wanted)
}
