package vacprotection

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"

	"minikcm.dev/minikcm/controllers/env"
	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/protection"
)

// Name is upstream's name of the controller, and workers its default.
const (
	Name    = "volumeattributesclass-protection-controller"
	workers = 1
)

// finalizer is upstream's finalizer of classes.
const finalizer = "kubernetes.io/vac-protection"

// Controller protects classes. Its keys are their names.
type Controller struct {
	client  kubernetes.Interface
	classes storagelisters.VolumeAttributesClassLister
	volumes corelisters.PersistentVolumeLister
	claims  corelisters.PersistentVolumeClaimLister
	loop    *loop.Loop
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	core, classes := e.Informers.Core().V1(), e.Informers.Storage().V1().VolumeAttributesClasses()
	c := &Controller{
		client: client, classes: classes.Lister(), volumes: core.PersistentVolumes().Lister(), claims: core.PersistentVolumeClaims().Lister(),
	}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(classes.Informer(), loop.Self)
	c.loop.Watch(core.PersistentVolumes().Informer(), wakeForReferrer)
	c.loop.Watch(core.PersistentVolumeClaims().Informer(), wakeForReferrer)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

// wakeForReferrer enqueues the classes that a volume or claim names no longer.
func wakeForReferrer(ev loop.Event) []types.NamespacedName {
	before, now := ev.Object, metav1.Object(nil)
	if ev.Type != loop.Deleted {
		if ev.Old == nil {
			return nil
		}
		before, now = ev.Old, ev.Object
	}
	var keys []types.NamespacedName
	named := classesOf(now)
	for _, name := range classesOf(before) {
		if !slices.Contains(named, name) {
			keys = append(keys, types.NamespacedName{Name: name})
		}
	}
	return keys
}

// classesOf returns the classes that a volume or claim names.
func classesOf(obj metav1.Object) []string {
	var names []string
	add := func(name *string) {
		if name != nil && *name != "" {
			names = append(names, *name)
		}
	}
	switch obj := obj.(type) {
	case *corev1.PersistentVolume:
		add(obj.Spec.VolumeAttributesClassName)
	case *corev1.PersistentVolumeClaim:
		add(obj.Spec.VolumeAttributesClassName)
		add(obj.Status.CurrentVolumeAttributesClassName)
		if obj.Status.ModifyVolumeStatus != nil {
			add(&obj.Status.ModifyVolumeStatus.TargetVolumeAttributesClassName)
		}
	}
	return names
}

// Reconcile updates one class.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	class, err := c.classes.Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting volume attributes class %s: %w", key.Name, err)
	}
	used := false
	if class.DeletionTimestamp != nil {
		if used, err = c.used(key.Name); err != nil {
			return loop.Result{}, err
		}
	}
	finalizers, change := protection.Finalizers(class, finalizer, func() bool { return used })
	if !change {
		return loop.Result{}, nil
	}
	changed := class.DeepCopy()
	changed.Finalizers = finalizers
	if _, err := c.client.StorageV1().VolumeAttributesClasses().Update(ctx, changed, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("updating volume attributes class %s: %w", key.Name, err)
	}
	return loop.Result{}, nil
}

// used reports whether a volume or claim names the class.
func (c *Controller) used(name string) (bool, error) {
	volumes, err := c.volumes.List(labels.Everything())
	if err != nil {
		return false, fmt.Errorf("listing volumes: %w", err)
	}
	if slices.ContainsFunc(volumes, func(v *corev1.PersistentVolume) bool { return slices.Contains(classesOf(v), name) }) {
		return true, nil
	}
	claims, err := c.claims.List(labels.Everything())
	if err != nil {
		return false, fmt.Errorf("listing claims: %w", err)
	}
	return slices.ContainsFunc(claims, func(v *corev1.PersistentVolumeClaim) bool { return slices.Contains(classesOf(v), name) }), nil
}
