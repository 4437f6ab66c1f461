package lifecycle

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/podspec"
)

// Need is a ConfigMap or Secret, or one of its keys, that a volume or a container's environment
// requires, a claim, whose only key is ClaimBound, or ClusterTrustBundles.
type Need struct {
	Secret, Claim bool
	// Bundles is nil unless the need is a ClusterTrustBundle by name, or any that its signer and
	// selector match; Name is then the name of the bundle or of the signer.
	Bundles           *corev1.ClusterTrustBundleProjection
	Name, Key         string
	volume, container string
	// Found means that the object exists and only the key is missing.
	Found bool
	// why is upstream's reason if it does not follow from the other fields.
	why string
	// unattached means that volumes wait until they are attached.
	unattached bool
	// unprepared means that the pod waits for a resource claim.
	unprepared bool
}

// NotAttached returns the need of volumes that are not attached to the node yet.
func NotAttached(volumes []string) Need {
	return Need{volume: strings.Join(volumes, " "), unattached: true}
}

// NotIssued returns the need of a volume whose certificate has not been issued, with the reason.
func NotIssued(volume string, why error) Need { return Need{volume: volume, why: why.Error()} }

// Disabled returns the needs of the volumes of a pod whose plugin kubelets have disabled: nothing meets them.
func Disabled(pod *corev1.Pod) []Need {
	var needs []Need
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.GitRepo != nil {
			needs = append(needs, Need{volume: v.Name, why: "git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate `GitRepoVolumeDriver`"})
		}
	}
	return needs
}

// NotPrepared returns the need of a resource claim that the pod cannot use yet, with the reason.
func NotPrepared(why error) Need { return Need{unprepared: true, why: why.Error()} }

// ClaimBound is the key of a claim that it has when it is bound.
const ClaimBound = "bound"

// Kind is the object's kind as upstream's messages write it.
func (n Need) Kind() string {
	switch {
	case n.Claim:
		return "persistentvolumeclaim"
	case n.Secret:
		return "secret"
	case n.Bundles != nil && n.Bundles.Name == nil:
		return "signer"
	case n.Bundles != nil:
		return "clustertrustbundle"
	}
	return "configmap"
}

// mountMessage is upstream's message for a volume whose source is missing.
func (n Need) mountMessage(namespace string) string {
	if n.unattached {
		return fmt.Sprintf("Unable to attach or mount volumes: unmounted volumes=[%[1]s], unattached volumes=[%[1]s], failed to process volumes=[]: context deadline exceeded", n.volume)
	}
	if n.Claim {
		why := fmt.Sprintf("failed to fetch PVC from API server: persistentvolumeclaims %q not found", n.Name)
		if n.Found {
			why = "PVC is not bound"
		}
		return fmt.Sprintf("Unable to attach or mount volumes: unmounted volumes=[%[1]s], unattached volumes=[], failed to process volumes=[%[1]s]: error processing PVC %s/%s: %s",
			n.volume, namespace, n.Name, why)
	}
	why := fmt.Sprintf("%s %q not found", n.Kind(), n.Name)
	switch {
	case n.why != "":
		why = n.why
	case n.Bundles != nil && n.Bundles.Name == nil:
		why = "combination of signerName and labelSelector matched zero ClusterTrustBundles"
	case n.Bundles != nil:
		why = fmt.Sprintf("while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io %q not found", n.Name)
	case n.Found && n.Secret:
		why = "references non-existent secret key: " + n.Key
	case n.Found:
		why = "configmap references non-existent config key: " + n.Key
	}
	return fmt.Sprintf("MountVolume.SetUp failed for volume %q : %s", n.volume, why)
}

// configMessage is upstream's message for an environment whose source is missing.
func (n Need) configMessage(namespace string) string {
	if !n.Found {
		return fmt.Sprintf("%s %q not found", n.Kind(), n.Name)
	}
	kind := "ConfigMap"
	if n.Secret {
		kind = "Secret"
	}
	return fmt.Sprintf("couldn't find key %s in %s %s/%s", n.Key, kind, namespace, n.Name)
}

// Needs lists the required ConfigMaps, Secrets and claims of a pod, in the order in which the kubelet
// looks for them.
func Needs(pod *corev1.Pod) []Need {
	var needs []Need
	for i := range pod.Spec.Volumes {
		needs = append(needs, volumeNeeds(pod, &pod.Spec.Volumes[i])...)
	}
	for _, ref := range podspec.Containers(pod) {
		needs = append(needs, environmentNeeds(ref.Container)...)
	}
	return needs
}

func volumeNeeds(pod *corev1.Pod, v *corev1.Volume) []Need {
	switch {
	case v.PersistentVolumeClaim != nil:
		return []Need{{Claim: true, Name: v.PersistentVolumeClaim.ClaimName, Key: ClaimBound, volume: v.Name}}
	case v.Ephemeral != nil:
		return []Need{{Claim: true, Name: ephemeral.VolumeClaimName(pod, v), Key: ClaimBound, volume: v.Name}}
	case v.ConfigMap != nil:
		return keyNeeds(Need{Name: v.ConfigMap.Name, volume: v.Name}, v.ConfigMap.Items, v.ConfigMap.Optional)
	case v.Secret != nil:
		return keyNeeds(Need{Secret: true, Name: v.Secret.SecretName, volume: v.Name}, v.Secret.Items, v.Secret.Optional)
	case v.Projected != nil:
		return projectedNeeds(v.Name, v.Projected.Sources)
	}
	return nil
}

func projectedNeeds(volume string, sources []corev1.VolumeProjection) []Need {
	var needs []Need
	for _, source := range sources {
		switch {
		case source.ConfigMap != nil:
			needs = append(needs, keyNeeds(Need{Name: source.ConfigMap.Name, volume: volume}, source.ConfigMap.Items, source.ConfigMap.Optional)...)
		case source.Secret != nil:
			needs = append(needs, keyNeeds(Need{Secret: true, Name: source.Secret.Name, volume: volume}, source.Secret.Items, source.Secret.Optional)...)
		case source.ClusterTrustBundle != nil:
			needs = append(needs, bundleNeeds(volume, source.ClusterTrustBundle)...)
		}
	}
	return needs
}

func bundleNeeds(volume string, source *corev1.ClusterTrustBundleProjection) []Need {
	if ptr.Deref(source.Optional, false) {
		return nil
	}
	name := ptr.Deref(source.Name, ptr.Deref(source.SignerName, ""))
	return []Need{{Bundles: source, Name: name, volume: volume}}
}

func keyNeeds(whole Need, items []corev1.KeyToPath, optional *bool) []Need {
	if optional != nil && *optional {
		return nil
	}
	needs := []Need{whole}
	for _, item := range items {
		one := whole
		one.Key = item.Key
		needs = append(needs, one)
	}
	return needs
}

func environmentNeeds(c *corev1.Container) []Need {
	var needs []Need
	add := func(n Need, optional *bool) {
		if optional == nil || !*optional {
			n.container = c.Name
			needs = append(needs, n)
		}
	}
	for _, from := range c.EnvFrom {
		switch {
		case from.ConfigMapRef != nil:
			add(Need{Name: from.ConfigMapRef.Name}, from.ConfigMapRef.Optional)
		case from.SecretRef != nil:
			add(Need{Secret: true, Name: from.SecretRef.Name}, from.SecretRef.Optional)
		}
	}
	for _, env := range c.Env {
		switch from := env.ValueFrom; {
		case from == nil:
		case from.ConfigMapKeyRef != nil:
			add(Need{Name: from.ConfigMapKeyRef.Name, Key: from.ConfigMapKeyRef.Key}, from.ConfigMapKeyRef.Optional)
		case from.SecretKeyRef != nil:
			add(Need{Secret: true, Name: from.SecretKeyRef.Name, Key: from.SecretKeyRef.Key}, from.SecretKeyRef.Optional)
		}
	}
	return needs
}
