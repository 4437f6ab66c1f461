package pvprotection

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/protection/guard"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "persistentvolume-protection-controller"

// finalizer is upstream's finalizer of volumes.
const finalizer = "kubernetes.io/pv-protection"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Aliases: []string{"pv-protection"}, Account: "pv-protection-controller",
		About:   "keeps volumes that are being deleted while they are bound",
		Watches: []string{"persistentvolumes"}, Writes: []string{"persistentvolumes"},
		Docs:  "concepts/storage/persistent-volumes/#storage-object-in-use-protection",
		Build: build,
	}
}

// Controller protects volumes. Its keys are their names.
type Controller struct {
	volumes guard.Kind[*corev1.PersistentVolume]
}

func build(p *controller.Parts) error {
	volumes := p.Informers.PersistentVolumes()
	c := &Controller{volumes: kindOf(volumes.Lister(), func(ctx context.Context, volume *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
		return p.Client.CoreV1().PersistentVolumes().Update(ctx, volume, metav1.UpdateOptions{})
	})}
	l := p.Loop(c)
	l.Watch(volumes.Informer(), loop.Self)
	return nil
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

// Reconcile updates one volume.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	_, _, err := c.volumes.Reconcile(ctx, key)
	return loop.Result{}, err
}
