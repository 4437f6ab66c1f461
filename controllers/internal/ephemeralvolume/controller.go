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

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/internal/loop"
)

// eventSource is upstream's source of the controller's events.
const eventSource = "ephemeral_volume"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: "ephemeral-volume-controller", Workers: 5, Aliases: []string{"ephemeral-volume"}, Account: "ephemeral-volume-controller",
		About:   "creates the claims of the ephemeral volumes of pods",
		Watches: []string{"pods", "persistentvolumeclaims"}, Writes: []string{"persistentvolumeclaims"},
		Docs: "concepts/storage/ephemeral-volumes/#generic-ephemeral-volumes",
		Concurrency: controller.Concurrency{Flag: "concurrent-ephemeralvolume-syncs", What: "pods with ephemeral volumes", In: func(s *controller.Settings) *int32 {
			return &s.EphemeralVolumeController.ConcurrentEphemeralVolumeSyncs
		}},
		Build: build,
	}
}

// Controller creates claims. Its keys are pods.
type Controller struct {
	client   kubernetes.Interface
	recorder record.EventRecorder
	claims   corelisters.PersistentVolumeClaimLister
}

func build(p *controller.Parts) error {
	c := &Controller{client: p.Client, recorder: p.Recorder.For(eventSource), claims: p.Informers.PersistentVolumeClaims().Lister()}
	l := p.Loop(controller.Each(p.Informers.Pods().Informer(), c.reconcile))
	l.Watch(p.Informers.Pods().Informer(), onPod)
	l.Watch(p.Informers.PersistentVolumeClaims().Informer(), onClaim)
	return nil
}

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

// reconcile creates the claims of a pod that do not exist.
func (c *Controller) reconcile(ctx context.Context, pod *corev1.Pod) (loop.Result, error) {
	key := loop.KeyOf(pod)
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
