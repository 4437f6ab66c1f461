package bootstrap

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers"
)

// DefaultStorageClass is the name of the default StorageClass that a cluster without any
// StorageClass gets if its controllers include the simulated-volume-provisioner. Its volumes
// are created when a pod uses their claim, and every node can use them.
const DefaultStorageClass = "standard"

// SimulateStorageClasses marks the StorageClasses and CSIDrivers of loaded objects or of a snapshot
// as simulated, because their provisioners and attachers do not run in this cluster. Without any
// class, it creates the default one.
func SimulateStorageClasses(ctx context.Context, all kubernetes.Interface) error {
	client := all.StorageV1().StorageClasses()
	classes, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the StorageClasses of the cluster: %w", err)
	}
	if err := simulateDrivers(ctx, all); err != nil {
		return err
	}
	if len(classes.Items) == 0 {
		if _, err := client.Create(ctx, NewStorageClass(), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating the default StorageClass: %w", err)
		}
		return nil
	}
	for i := range classes.Items {
		class := classes.Items[i].DeepCopy()
		if controllers.Provisions(class) || class.Provisioner == storagehelpers.NotSupportedProvisioner || !markSimulated(&class.ObjectMeta) {
			continue
		}
		if _, err := client.Update(ctx, class, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("marking StorageClass %s as simulated: %w", class.Name, err)
		}
	}
	return nil
}

// simulateDrivers marks the CSIDrivers as simulated.
func simulateDrivers(ctx context.Context, all kubernetes.Interface) error {
	client := all.StorageV1().CSIDrivers()
	drivers, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the CSIDrivers of the cluster: %w", err)
	}
	for i := range drivers.Items {
		driver := drivers.Items[i].DeepCopy()
		if !markSimulated(&driver.ObjectMeta) {
			continue
		}
		if _, err := client.Update(ctx, driver, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("marking CSIDriver %s as simulated: %w", driver.Name, err)
		}
	}
	return nil
}

// markSimulated adds the annotation for simulated objects, unless the object has it with any
// value. It reports whether it did.
func markSimulated(object *metav1.ObjectMeta) bool {
	if _, decided := object.Annotations[controllers.AnnotationSimulated]; decided {
		return false
	}
	metav1.SetMetaDataAnnotation(object, controllers.AnnotationSimulated, "true")
	return true
}

// NewStorageClass returns the default StorageClass.
func NewStorageClass() *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta:           metav1.ObjectMeta{Name: DefaultStorageClass, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner:          controllers.SimulatedProvisioner,
		ReclaimPolicy:        ptr.To(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode:    ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
		AllowVolumeExpansion: ptr.To(true),
	}
}
