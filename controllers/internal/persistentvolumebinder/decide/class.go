package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

// The annotations of default StorageClasses.
const (
	defaultClass     = "storageclass.kubernetes.io/is-default-class"
	betaDefaultClass = "storageclass.beta.kubernetes.io/is-default-class"
)

// inTree is the prefix of the names of provisioners that are part of Kubernetes.
const inTree = "kubernetes.io/"

// classOf returns the class of a claim; nil: it has none, or one that does not exist.
func classOf(claim *corev1.PersistentVolumeClaim, classes []*storagev1.StorageClass) *storagev1.StorageClass {
	name := storagehelpers.GetPersistentVolumeClaimClass(claim)
	if i := slices.IndexFunc(classes, func(c *storagev1.StorageClass) bool { return c.Name == name }); name != "" && i >= 0 {
		return classes[i]
	}
	return nil
}

// missingClass returns the name of the default class for a claim that names no class, not
// even ""; empty if the claim does, or if no class is the default. Of several defaults it is
// the newest, of equally old ones the first by name.
func missingClass(claim *corev1.PersistentVolumeClaim, classes []*storagev1.StorageClass) string {
	if storagehelpers.PersistentVolumeClaimHasClass(claim) {
		return ""
	}
	var newest *storagev1.StorageClass
	for _, class := range classes {
		if class.Annotations[defaultClass] != "true" && class.Annotations[betaDefaultClass] != "true" {
			continue
		}
		if newest == nil || cmp.Or(class.CreationTimestamp.Compare(newest.CreationTimestamp.Time), cmp.Compare(newest.Name, class.Name)) > 0 {
			newest = class
		}
	}
	if newest == nil {
		return ""
	}
	return newest.Name
}

// provision asks the provisioner of a class for a volume: the annotations name it.
func provision(claim *corev1.PersistentVolumeClaim, name string, class *storagev1.StorageClass) Step {
	switch {
	case class == nil:
		return pending(claim, warn(claim, "ProvisioningFailed", fmt.Sprintf("storageclass.storage.k8s.io %q not found", name)))
	case strings.HasPrefix(class.Provisioner, inTree):
		return pending(claim, warn(claim, "ProvisioningFailed", "no volume plugin matched name: "+class.Provisioner))
	}
	if claim.Annotations[storagehelpers.AnnStorageProvisioner] != class.Provisioner || claim.Annotations[storagehelpers.AnnBetaStorageProvisioner] != class.Provisioner {
		changed := claim.DeepCopy()
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, storagehelpers.AnnStorageProvisioner, class.Provisioner)
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, storagehelpers.AnnBetaStorageProvisioner, class.Provisioner)
		return Step{Write: Update, Object: changed}
	}
	return pending(claim, report(claim, corev1.EventTypeNormal, "ExternalProvisioning", fmt.Sprintf(
		"Waiting for a volume to be created either by the external provisioner '%s' or manually by the system administrator. "+
			"If volume creation is delayed, please verify that the provisioner is running and correctly registered.", class.Provisioner)))
}
