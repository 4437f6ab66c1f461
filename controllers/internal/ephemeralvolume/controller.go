package ephemeralvolume

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-helpers/storage/ephemeral"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller, eventSource upstream's source of its events, and
// workers upstream's default.
const (
	Name        = "ephemeral-volume-controller"
	eventSource = "ephemeral_volume"
	workers     = 5
)

// Controller creates claims. Its keys are pods.
type Controller struct {
	client   kubernetes.Interface
	recorder record.EventRecorder
	pods     corelisters.PodLister
	claims   corelisters.PersistentVolumeClaimLister
	loop     loop.Loop
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	c := &Controller{client: client, recorder: e.Recorder.For(eventSource), pods: e.Informers.Pods().Lister(), claims: e.Informers.PersistentVolumeClaims().Lister()}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(e.Informers.Pods().Informer(), onPod)
	c.loop.Watch(e.Informers.PersistentVolumeClaims().Informer(), onClaim)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

// onPod wakes a new pod that has ephemeral volumes. The volumes of a pod never change.
func onPod(ev loop.Event) []types.NamespacedName {
	pod, ok := ev.Object.(*corev1.Pod)
	if !ok || ev.Type != loop.Added || pod.DeletionTimestamp != nil {
		return nil
	}
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].Ephemeral != nil {
			return loop.Self(ev)
		}
	}
	return nil
}

// onClaim wakes the pod whose claim was deleted: it gets another one.
func onClaim(ev loop.Event) []types.NamespacedName {
	if ev.Type != loop.Deleted {
		return nil
	}
	return loop.ControllerOf(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind())(ev)
}

// Reconcile creates the claims of a pod that do not exist.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	pod, err := c.pods.Pods(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting pod %s: %w", key, err)
	}
	if pod.DeletionTimestamp != nil {
		return loop.Result{}, nil
	}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if volume.Ephemeral == nil {
			continue
		}
		if err := c.provide(ctx, pod, volume); err != nil {
			c.recorder.Eventf(pod, corev1.EventTypeWarning, "FailedBinding", "ephemeral volume %s: %v", volume.Name, err)
			return loop.Result{}, fmt.Errorf("creating the claim of volume %s of pod %s: %w", volume.Name, key, err)
		}
	}
	return loop.Result{}, nil
}

// provide creates the claim of an ephemeral volume unless it exists. A claim of that name that
// does not belong to the pod is an error.
func (c *Controller) provide(ctx context.Context, pod *corev1.Pod, volume *corev1.Volume) error {
	name := ephemeral.VolumeClaimName(pod, volume)
	claim, err := c.claims.PersistentVolumeClaims(pod.Namespace).Get(name)
	switch {
	case err == nil:
		return ephemeral.VolumeIsForPod(pod, claim)
	case !apierrors.IsNotFound(err):
		return err
	}
	template := volume.Ephemeral.VolumeClaimTemplate
	_, err = c.client.CoreV1().PersistentVolumeClaims(pod.Namespace).Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: template.Annotations, Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))},
		},
		Spec: template.Spec,
	}, metav1.CreateOptions{})
	return err
}
