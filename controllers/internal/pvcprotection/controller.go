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
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/protection/guard"
	"minikcm.dev/minikcm/controllers/internal/pvcprotection/decide"
	"minikcm.dev/minikcm/controllers/internal/volumeindex"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "persistentvolumeclaim-protection-controller"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 30, Aliases: []string{"pvc-protection"}, Account: "pvc-protection-controller",
		About:   "keeps claims that are being deleted until no pod uses them",
		Watches: []string{"persistentvolumeclaims", "pods"}, Writes: []string{"persistentvolumeclaims", "persistentvolumeclaims/status"},
		Docs:  "concepts/storage/persistent-volumes/#storage-object-in-use-protection",
		Build: build,
	}
}

// Controller protects claims. Its keys are claims.
type Controller struct {
	clock clock.Clock
	api   api
	kind  guard.Kind[*corev1.PersistentVolumeClaim]
	pods  corelisters.PodLister
}

// api is the part of the Kubernetes API that the controller uses.
type api interface {
	// Pods lists the pods in a namespace, without a cache.
	Pods(ctx context.Context, namespace string) ([]*corev1.Pod, error)
	Update(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error)
	UpdateStatus(ctx context.Context, claim *corev1.PersistentVolumeClaim) error
}

func build(p *controller.Parts) error {
	c := newController(p.Clock, clientAPI{p.Client}, p.Informers.PersistentVolumeClaims().Lister(), p.Informers.Pods().Lister())
	l := p.Loop(c)
	l.Watch(p.Informers.PersistentVolumeClaims().Informer(), loop.Self)
	l.Watch(p.Informers.Pods().Informer(), wakeForPod)
	return nil
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
