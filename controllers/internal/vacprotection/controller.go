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

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/protection/guard"
	"minikcm.dev/minikcm/internal/loop"
)

// finalizer is upstream's finalizer of classes.
const finalizer = "kubernetes.io/vac-protection"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: "volumeattributesclass-protection-controller", Account: "volumeattributesclass-protection-controller",
		About:   "keeps volume attributes classes that are being deleted until no volume and no claim names them",
		Watches: []string{"volumeattributesclasses", "persistentvolumes", "persistentvolumeclaims"}, Writes: []string{"volumeattributesclasses"},
		Docs:  "concepts/storage/volume-attributes-classes/",
		Build: build,
	}
}

// Controller protects classes. Its keys are their names.
type Controller struct {
	classes guard.Kind[*storagev1.VolumeAttributesClass]
	volumes corelisters.PersistentVolumeLister
	claims  corelisters.PersistentVolumeClaimLister
}

func build(p *controller.Parts) error {
	classes := p.Informers.VolumeAttributesClasses()
	c := &Controller{volumes: p.Informers.PersistentVolumes().Lister(), claims: p.Informers.PersistentVolumeClaims().Lister()}
	c.classes = guard.Kind[*storagev1.VolumeAttributesClass]{
		Noun: "volume attributes class", Finalizer: finalizer,
		Get: func(key types.NamespacedName) (*storagev1.VolumeAttributesClass, error) {
			return classes.Lister().Get(key.Name)
		},
		Used: func(_ context.Context, class *storagev1.VolumeAttributesClass) (bool, error) {
			return c.used(class.Name)
		},
		Update: func(ctx context.Context, class *storagev1.VolumeAttributesClass) (*storagev1.VolumeAttributesClass, error) {
			return p.Client.StorageV1().VolumeAttributesClasses().Update(ctx, class, metav1.UpdateOptions{})
		},
	}
	l := p.Loop(c)
	l.Watch(classes.Informer(), loop.Self)
	l.Watch(p.Informers.PersistentVolumes().Informer(), wakeForReferrer)
	l.Watch(p.Informers.PersistentVolumeClaims().Informer(), wakeForReferrer)
	return nil
}

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
