package pvprotection

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"

	"minikcm.dev/minikcm/controllers/env"
	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/protection"
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
	client  kubernetes.Interface
	volumes corelisters.PersistentVolumeLister
	loop    *loop.Loop
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	volumes := e.Informers.Core().V1().PersistentVolumes()
	c := &Controller{client: client, volumes: volumes.Lister()}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(volumes.Informer(), loop.Self)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

// Reconcile updates one volume.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	volume, err := c.volumes.Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting volume %s: %w", key.Name, err)
	}
	finalizers, change := protection.Finalizers(volume, finalizer, func() bool { return volume.Status.Phase == corev1.VolumeBound })
	if !change {
		return loop.Result{}, nil
	}
	changed := volume.DeepCopy()
	changed.Finalizers = finalizers
	if _, err := c.client.CoreV1().PersistentVolumes().Update(ctx, changed, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("updating volume %s: %w", key.Name, err)
	}
	return loop.Result{}, nil
}
