package podreferences

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// names collects names without duplicates and empty ones.
type names struct{ list []string }

func (n *names) add(name string) {
	if name == "" {
		return
	}
	for _, has := range n.list {
		if has == name {
			return
		}
	}
	n.list = append(n.list, name)
}

func (n *names) addLocal(ref *corev1.LocalObjectReference) {
	if ref != nil {
		n.add(ref.Name)
	}
}

// Secrets returns the names of the Secrets that a pod refers to, in its namespace: for images,
// environments and volumes.
func Secrets(pod *corev1.Pod) []string {
	var found names
	for i := range pod.Spec.ImagePullSecrets {
		found.addLocal(&pod.Spec.ImagePullSecrets[i])
	}
	eachEnv(&pod.Spec, func(from []corev1.EnvFromSource, env []corev1.EnvVar) {
		for i := range from {
			if ref := from[i].SecretRef; ref != nil {
				found.add(ref.Name)
			}
		}
		for i := range env {
			if source := env[i].ValueFrom; source != nil && source.SecretKeyRef != nil {
				found.add(source.SecretKeyRef.Name)
			}
		}
	})
	for i := range pod.Spec.Volumes {
		volumeSecrets(&pod.Spec.Volumes[i].VolumeSource, &found)
	}
	return found.list
}

// volumeSecrets adds the Secrets of a volume of a pod.
func volumeSecrets(v *corev1.VolumeSource, found *names) {
	switch {
	case v.Secret != nil:
		found.add(v.Secret.SecretName)
	case v.Projected != nil:
		for i := range v.Projected.Sources {
			if secret := v.Projected.Sources[i].Secret; secret != nil {
				found.add(secret.Name)
			}
		}
	case v.CSI != nil:
		found.addLocal(v.CSI.NodePublishSecretRef)
	case v.AzureFile != nil:
		found.add(v.AzureFile.SecretName)
	case v.CephFS != nil:
		found.addLocal(v.CephFS.SecretRef)
	case v.Cinder != nil:
		found.addLocal(v.Cinder.SecretRef)
	case v.FlexVolume != nil:
		found.addLocal(v.FlexVolume.SecretRef)
	case v.ISCSI != nil:
		found.addLocal(v.ISCSI.SecretRef)
	case v.RBD != nil:
		found.addLocal(v.RBD.SecretRef)
	case v.ScaleIO != nil:
		found.addLocal(v.ScaleIO.SecretRef)
	case v.StorageOS != nil:
		found.addLocal(v.StorageOS.SecretRef)
	}
}

// ConfigMaps returns the names of the ConfigMaps that a pod refers to, in its namespace.
func ConfigMaps(pod *corev1.Pod) []string {
	var found names
	eachEnv(&pod.Spec, func(from []corev1.EnvFromSource, env []corev1.EnvVar) {
		for i := range from {
			if ref := from[i].ConfigMapRef; ref != nil {
				found.add(ref.Name)
			}
		}
		for i := range env {
			if source := env[i].ValueFrom; source != nil && source.ConfigMapKeyRef != nil {
				found.add(source.ConfigMapKeyRef.Name)
			}
		}
	})
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.ConfigMap != nil {
			found.add(v.ConfigMap.Name)
		}
		if v.Projected == nil {
			continue
		}
		for j := range v.Projected.Sources {
			if source := v.Projected.Sources[j].ConfigMap; source != nil {
				found.add(source.Name)
			}
		}
	}
	return found.list
}

// eachEnv calls do with the environment of every container.
func eachEnv(spec *corev1.PodSpec, do func(from []corev1.EnvFromSource, env []corev1.EnvVar)) {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			do(containers[i].EnvFrom, containers[i].Env)
		}
	}
	for i := range spec.EphemeralContainers {
		do(spec.EphemeralContainers[i].EnvFrom, spec.EphemeralContainers[i].Env)
	}
}

// VolumeClaims returns the names of the PersistentVolumeClaims of a pod's volumes, including the
// claims of ephemeral volumes.
func VolumeClaims(pod *corev1.Pod) []string {
	var found names
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		switch {
		case v.PersistentVolumeClaim != nil:
			found.add(v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			found.add(ephemeral.VolumeClaimName(pod, v))
		}
	}
	return found.list
}

// ResourceClaims returns the names of the ResourceClaims of a pod that exist or existed: a claim
// of a template has a name once it was created.
func ResourceClaims(pod *corev1.Pod) []string {
	var found names
	for i := range pod.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err == nil && name != nil {
			found.add(*name)
		}
	}
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		found.add(extended.ResourceClaimName)
	}
	return found.list
}

// Any returns the resource of an API object that a pod refers to, in upstream's words for mirror
// pods; empty if there is none. It returns an error for volumes that it does not know.
func Any(pod *corev1.Pod) (resource string, err error) {
	switch {
	case pod.Spec.ServiceAccountName != "":
		return "serviceaccounts", nil
	case len(Secrets(pod)) > 0:
		return "secrets", nil
	case len(ConfigMaps(pod)) > 0:
		return "configmaps", nil
	case len(pod.Spec.ResourceClaims) > 0:
		return "resourceclaims", nil
	}
	for i := range pod.Spec.Volumes {
		if resource, err = ofVolume(&pod.Spec.Volumes[i]); resource != "" || err != nil {
			return resource, err
		}
	}
	return "", nil
}

// ofVolume returns the resource that a volume refers to.
func ofVolume(v *corev1.Volume) (string, error) {
	switch {
	case v.ConfigMap != nil:
		return "configmaps (via configmap volumes)", nil
	case v.Secret != nil:
		return "secrets (via secret volumes)", nil
	case v.CSI != nil:
		return "csidrivers (via CSI volumes)", nil
	case v.Glusterfs != nil:
		return "endpoints (via glusterFS volumes)", nil
	case v.PersistentVolumeClaim != nil:
		return "persistentvolumeclaims", nil
	case v.Ephemeral != nil:
		return "persistentvolumeclaims (via ephemeral volumes)", nil
	case v.AzureFile != nil:
		return "secrets (via azureFile volumes)", nil
	case v.Projected != nil:
		return ofProjection(v)
	case v.VolumeSource == corev1.VolumeSource{}:
		return "", fmt.Errorf("unknown volume type for volume  %q", v.Name)
	}
	return "", nil
}

// ofProjection returns the resource that a projected volume refers to.
func ofProjection(v *corev1.Volume) (string, error) {
	for i := range v.Projected.Sources {
		switch source := &v.Projected.Sources[i]; {
		case source.ConfigMap != nil:
			return "configmaps (via projected volumes)", nil
		case source.Secret != nil:
			return "secrets (via projected volumes)", nil
		case source.ServiceAccountToken != nil:
			return "serviceaccounts (via projected volumes)", nil
		case source.ClusterTrustBundle != nil:
			return "clustertrustbundles", nil
		case source.PodCertificate != nil:
			return "podcertificates", nil
		case source.DownwardAPI != nil:
		default:
			return "", fmt.Errorf("unknown source for projected volume %q", v.Name)
		}
	}
	return "", nil
}
