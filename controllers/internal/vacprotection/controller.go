package vacprotection

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/protection/guard"
	"minikcm.dev/minikcm/internal/loop"
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
	classes guard.Kind[*storagev1.VolumeAttributesClass]
	volumes corelisters.PersistentVolumeLister
	claims  corelisters.PersistentVolumeClaimLister
	loop    loop.Loop
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	classes := e.Informers.VolumeAttributesClasses()
	c := &Controller{volumes: e.Informers.PersistentVolumes().Lister(), claims: e.Informers.PersistentVolumeClaims().Lister()}
	c.classes = guard.Kind[*storagev1.VolumeAttributesClass]{
		Noun: "volume attributes class", Finalizer: finalizer,
		Get: func(key types.NamespacedName) (*storagev1.VolumeAttributesClass, error) {
			return classes.Lister().Get(key.Name)
		},
		Used: func(_ context.Context, class *storagev1.VolumeAttributesClass) (bool, error) {
			return c.used(class.Name)
		},
		Update: func(ctx context.Context, class *storagev1.VolumeAttributesClass) (*storagev1.VolumeAttributesClass, error) {
			return client.StorageV1().VolumeAttributesClasses().Update(ctx, class, metav1.UpdateOptions{})
		},
	}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(classes.Informer(), loop.Self)
	c.loop.Watch(e.Informers.PersistentVolumes().Informer(), wakeForReferrer)
	c.loop.Watch(e.Informers.PersistentVolumeClaims().Informer(), wakeForReferrer)
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
	_, _, err := c.classes.Reconcile(ctx, key)
	return loop.Result{}, err
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
