package podreferences

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// VolumeSecrets returns the Secrets of a PersistentVolume that a kubelet reads to mount it.
// Those that only controllers of volumes read are left out.
func VolumeSecrets(volume *corev1.PersistentVolume) []types.NamespacedName {
	var found []types.NamespacedName
	add := func(namespace, name string) {
		if name != "" {
			found = append(found, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	ofClaim := ""
	if volume.Spec.ClaimRef != nil {
		ofClaim = volume.Spec.ClaimRef.Namespace
	}
	// orOfClaim adds a Secret. If its namespace is not set, it is in the claim's namespace.
	orOfClaim := func(ref *corev1.SecretReference) {
		if ref != nil {
			add(cmp.Or(ref.Namespace, ofClaim), ref.Name)
		}
	}
	exactly := func(ref *corev1.SecretReference) {
		if ref != nil {
			add(ref.Namespace, ref.Name)
		}
	}
	switch source := &volume.Spec.PersistentVolumeSource; {
	case source.CSI != nil:
		exactly(source.CSI.NodePublishSecretRef)
		exactly(source.CSI.NodeStageSecretRef)
		exactly(source.CSI.NodeExpandSecretRef)
	case source.AzureFile != nil:
		add(cmp.Or(ptr.Deref(source.AzureFile.SecretNamespace, ""), ofClaim), source.AzureFile.SecretName)
	case source.CephFS != nil:
		orOfClaim(source.CephFS.SecretRef)
	case source.Cinder != nil:
		exactly(source.Cinder.SecretRef)
	case source.FlexVolume != nil:
		orOfClaim(source.FlexVolume.SecretRef)
	case source.RBD != nil:
		orOfClaim(source.RBD.SecretRef)
	case source.ScaleIO != nil:
		orOfClaim(source.ScaleIO.SecretRef)
	case source.ISCSI != nil:
		orOfClaim(source.ISCSI.SecretRef)
	case source.StorageOS != nil && source.StorageOS.SecretRef != nil:
		add(source.StorageOS.SecretRef.Namespace, source.StorageOS.SecretRef.Name)
	}
	return found
}
