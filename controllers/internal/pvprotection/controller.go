package pvprotection

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/protection/guard"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller, and workers its default.
const (
	Name    = "persistentvolume-protection-controller"
	workers = 1
)

// finalizer is upstream's finalizer of volumes.
const finalizer = "kubernetes.io/pv-protection"

// Controller protects volumes. Its keys are their names.
type Controller struct {
	volumes guard.Kind[*corev1.PersistentVolume]
	loop    loop.Loop
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	volumes := e.Informers.PersistentVolumes()
	c := &Controller{volumes: kindOf(volumes.Lister(), func(ctx context.Context, volume *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
		return client.CoreV1().PersistentVolumes().Update(ctx, volume, metav1.UpdateOptions{})
	})}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(volumes.Informer(), loop.Self)
	return c, nil
}

// kindOf returns how volumes are protected: a bound one is used.
func kindOf(volumes corelisters.PersistentVolumeLister, update func(context.Context, *corev1.PersistentVolume) (*corev1.PersistentVolume, error)) guard.Kind[*corev1.PersistentVolume] {
	return guard.Kind[*corev1.PersistentVolume]{
		Noun: "volume", Finalizer: finalizer, Update: update,
		Get: func(key types.NamespacedName) (*corev1.PersistentVolume, error) { return volumes.Get(key.Name) },
		Used: func(_ context.Context, volume *corev1.PersistentVolume) (bool, error) {
			return volume.Status.Phase == corev1.VolumeBound, nil
		},
	}
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

// Reconcile updates one volume.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	_, _, err := c.volumes.Reconcile(ctx, key)
	return loop.Result{}, err
}
