package warnings

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func PersistentVolume(pv *corev1.PersistentVolume) []string {
	spec, p := &pv.Spec, field.NewPath("spec")
	var all []string
	for _, deprecated := range []struct{ key, text string }{
		{corev1.BetaStorageClassAnnotation, `deprecated since v1.8; use "storageClassName" attribute instead`},
		{corev1.MountOptionAnnotation, `deprecated since v1.31; use "mountOptions" attribute instead`},
	} {
		if _, set := pv.Annotations[deprecated.key]; set {
			all = append(all, fmt.Sprintf("%s: %s", field.NewPath("metadata", "annotations").Key(deprecated.key), deprecated.text))
		}
	}
	if spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		all = append(all, "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.")
	}
	if spec.NodeAffinity != nil && spec.NodeAffinity.Required != nil {
		for i := range spec.NodeAffinity.Required.NodeSelectorTerms {
			all = append(all, warnNodeTerm(p.Child("nodeAffinity", "required", "nodeSelectorTerms").Index(i), &spec.NodeAffinity.Required.NodeSelectorTerms[i], false)...)
		}
	}
	return append(all, warnGone(p,
		usedVolume{"cephfs", spec.CephFS != nil}, usedVolume{"photonPersistentDisk", spec.PhotonPersistentDisk != nil},
		usedVolume{"scaleIO", spec.ScaleIO != nil}, usedVolume{"storageOS", spec.StorageOS != nil},
		usedVolume{"glusterfs", spec.Glusterfs != nil}, usedVolume{"rbd", spec.RBD != nil},
	)...)
}

func PersistentVolumeClaim(c *corev1.PersistentVolumeClaim) []string {
	var all []string
	if _, set := c.Annotations[corev1.BetaStorageClassAnnotation]; set {
		all = append(all, fmt.Sprintf(`%s: deprecated since v1.8; use "storageClassName" attribute instead`, field.NewPath("metadata", "annotations").Key(corev1.BetaStorageClassAnnotation)))
	}
	return append(all, warnClaimSpec(field.NewPath("spec"), &c.Spec)...)
}

func CSIDriver(d, old *storagev1.CSIDriver) []string {
	unchanged := old != nil && apiequality.Semantic.DeepEqual(old.Spec.TokenRequests, d.Spec.TokenRequests)
	if len(d.Spec.TokenRequests) == 0 || d.Spec.ServiceAccountTokenInSecrets != nil || unchanged {
		return nil
	}
	return []string{"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes"}
}

func StorageClass(s *storagev1.StorageClass) []string {
	var all []string
	for i := range s.AllowedTopologies {
		for j, expression := range s.AllowedTopologies[i].MatchLabelExpressions {
			if text, deprecated := deprecatedNodeLabels[expression.Key]; deprecated {
				all = append(all, fmt.Sprintf("allowedTopologies[%d].matchLabelExpressions[%d].key: %s", i, j, text))
			}
		}
	}
	return all
}

func CSIStorageCapacity(c *storagev1.CSIStorageCapacity) []string {
	if c.NodeTopology == nil {
		return nil
	}
	p := field.NewPath("nodeTopology")
	var all []string
	for i, expression := range c.NodeTopology.MatchExpressions {
		all = append(all, warnNodeLabel(p.Child("matchExpressions").Index(i).Child("key"), expression.Key)...)
	}
	return append(all, warnNodeLabels(c.NodeTopology.MatchLabels, func(key string) *field.Path { return p.Child("matchLabels").Child(key) })...)
}
