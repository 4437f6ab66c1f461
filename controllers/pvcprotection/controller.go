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
	"k8s.io/component-helpers/storage/ephemeral"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/env"
	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/pvcprotection/decide"
)

// Name is upstream's name of the controller, and workers its default.
const (
	Name    = "persistentvolumeclaim-protection-controller"
	workers = 30
)

// Controller protects claims. Its keys are claims.
type Controller struct {
	clock  clock.Clock
	client kubernetes.Interface
	claims corelisters.PersistentVolumeClaimLister
	pods   corelisters.PodLister
	loop   *loop.Loop
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	core := e.Informers.Core().V1()
	c := &Controller{clock: e.Clock, client: client, claims: core.PersistentVolumeClaims().Lister(), pods: core.Pods().Lister()}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(core.PersistentVolumeClaims().Informer(), loop.Self)
	c.loop.Watch(core.Pods().Informer(), wakeForPod)
	return c, nil
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
	var keys []types.NamespacedName
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		switch {
		case volume.PersistentVolumeClaim != nil:
			keys = append(keys, types.NamespacedName{Namespace: pod.Namespace, Name: volume.PersistentVolumeClaim.ClaimName})
		case volume.Ephemeral != nil:
			keys = append(keys, types.NamespacedName{Namespace: pod.Namespace, Name: ephemeral.VolumeClaimName(pod, volume)})
		}
	}
	return keys
}

// Reconcile updates one claim.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	claim, err := c.claims.PersistentVolumeClaims(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting claim %s: %w", key, err)
	}
	pods, err := c.pods.Pods(key.Namespace).List(labels.Everything())
	if err != nil {
		return loop.Result{}, fmt.Errorf("listing the pods in namespace %s: %w", key.Namespace, err)
	}
	decision := decide.Claim(claim, pods, c.clock.Now())
	if decision.SetFinalizers && claim.DeletionTimestamp != nil {
		used, err := c.used(ctx, claim)
		if used || err != nil {
			return loop.Result{}, err
		}
	}
	if err := c.write(ctx, claim, decision); err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("updating claim %s: %w", key, err)
	}
	return loop.Result{}, nil
}

// used asks the API whether a pod uses the claim that is to be released: the cache may not
// have a pod yet that was scheduled just now.
func (c *Controller) used(ctx context.Context, claim *corev1.PersistentVolumeClaim) (bool, error) {
	pods, err := c.client.CoreV1().Pods(claim.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, fmt.Errorf("listing the pods in namespace %s: %w", claim.Namespace, err)
	}
	for i := range pods.Items {
		if decide.Uses(&pods.Items[i], claim) {
			return true, nil
		}
	}
	return false, nil
}

func (c *Controller) write(ctx context.Context, claim *corev1.PersistentVolumeClaim, decision decide.Decision) error {
	claims := c.client.CoreV1().PersistentVolumeClaims(claim.Namespace)
	if decision.SetFinalizers {
		changed := claim.DeepCopy()
		changed.Finalizers = decision.Finalizers
		var err error
		if claim, err = claims.Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if decision.Condition == nil {
		return nil
	}
	changed := claim.DeepCopy()
	setCondition(&changed.Status, *decision.Condition)
	_, err := claims.UpdateStatus(ctx, changed, metav1.UpdateOptions{})
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
