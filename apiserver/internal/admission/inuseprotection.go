package admission

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StorageObjectInUseProtection gives new volumes, claims and volume attributes classes the
// finalizers that the controllers of packages pvprotection, pvcprotection and vacprotection
// remove when the objects are deleted and not used.
type StorageObjectInUseProtection struct{}

// Mutate implements Mutator.
func (StorageObjectInUseProtection) Mutate(_ context.Context, a *Attributes) error {
	if a.Operation != Create || a.Subresource != "" {
		return nil
	}
	switch object := a.Object.(type) {
	case *corev1.PersistentVolume:
		protect(object, "kubernetes.io/pv-protection")
	case *corev1.PersistentVolumeClaim:
		protect(object, "kubernetes.io/pvc-protection")
	case *storagev1.VolumeAttributesClass:
		protect(object, "kubernetes.io/vac-protection")
	}
	return nil
}

// PodGroupProtection gives new PodGroups the finalizer that the controller of package podgroupprotection
// removes.
type PodGroupProtection struct{}

// Mutate implements Mutator.
func (PodGroupProtection) Mutate(_ context.Context, a *Attributes) error {
	if group, ok := a.Object.(*schedulingv1beta1.PodGroup); ok && a.Operation == Create && a.Subresource == "" {
		protect(group, "scheduling.k8s.io/podgroup-protection")
	}
	return nil
}

func protect(object metav1.Object, finalizer string) {
	if has := object.GetFinalizers(); !slices.Contains(has, finalizer) {
		object.SetFinalizers(append(has, finalizer))
	}
}
