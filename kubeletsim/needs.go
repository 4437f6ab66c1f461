package kubeletsim

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// need is a ConfigMap or Secret, or one key of it, that a pod cannot do without:
// for a volume, or for a container's environment.
type need struct {
	secret            bool
	name, key         string
	volume, container string
	// found is whether the object is there, and only the key is not.
	found bool
}

// kind is what messages call it.
func (n need) kind() string {
	if n.secret {
		return "secret"
	}
	return "configmap"
}

// mountMessage is what is wrong with the volume.
func (n need) mountMessage() string {
	why := fmt.Sprintf("%s %q not found", n.kind(), n.name)
	switch {
	case n.found && n.secret:
		why = "references non-existent secret key: " + n.key
	case n.found:
		why = "configmap references non-existent config key: " + n.key
	}
	return fmt.Sprintf("MountVolume.SetUp failed for volume %q : %s", n.volume, why)
}

// configMessage is what is wrong with the container's environment.
func (n need) configMessage(namespace string) string {
	if !n.found {
		return fmt.Sprintf("%s %q not found", n.kind(), n.name)
	}
	kind := "ConfigMap"
	if n.secret {
		kind = "Secret"
	}
	return fmt.Sprintf("couldn't find key %s in %s %s/%s", n.key, kind, namespace, n.name)
}

// needsOf lists what a pod cannot do without, in the order in which it would be
// missed.
func needsOf(pod *corev1.Pod) []need {
	var needs []need
	for i := range pod.Spec.Volumes {
		needs = append(needs, volumeNeeds(&pod.Spec.Volumes[i])...)
	}
	for _, ref := range containersOf(pod) {
		needs = append(needs, environmentNeeds(ref.Container)...)
	}
	return needs
}

func volumeNeeds(v *corev1.Volume) []need {
	switch {
	case v.ConfigMap != nil:
		return keyNeeds(need{name: v.ConfigMap.Name, volume: v.Name}, v.ConfigMap.Items, v.ConfigMap.Optional)
	case v.Secret != nil:
		return keyNeeds(need{secret: true, name: v.Secret.SecretName, volume: v.Name}, v.Secret.Items, v.Secret.Optional)
	case v.Projected == nil:
		return nil
	}
	var needs []need
	for _, source := range v.Projected.Sources {
		switch {
		case source.ConfigMap != nil:
			needs = append(needs, keyNeeds(need{name: source.ConfigMap.Name, volume: v.Name}, source.ConfigMap.Items, source.ConfigMap.Optional)...)
		case source.Secret != nil:
			needs = append(needs, keyNeeds(need{secret: true, name: source.Secret.Name, volume: v.Name}, source.Secret.Items, source.Secret.Optional)...)
		}
	}
	return needs
}

func keyNeeds(whole need, items []corev1.KeyToPath, optional *bool) []need {
	if optional != nil && *optional {
		return nil
	}
	needs := []need{whole}
	for _, item := range items {
		one := whole
		one.key = item.Key
		needs = append(needs, one)
	}
	return needs
}

func environmentNeeds(c *corev1.Container) []need {
	var needs []need
	add := func(n need, optional *bool) {
		if optional == nil || !*optional {
			n.container = c.Name
			needs = append(needs, n)
		}
	}
	for _, from := range c.EnvFrom {
		switch {
		case from.ConfigMapRef != nil:
			add(need{name: from.ConfigMapRef.Name}, from.ConfigMapRef.Optional)
		case from.SecretRef != nil:
			add(need{secret: true, name: from.SecretRef.Name}, from.SecretRef.Optional)
		}
	}
	for _, env := range c.Env {
		switch from := env.ValueFrom; {
		case from == nil:
		case from.ConfigMapKeyRef != nil:
			add(need{name: from.ConfigMapKeyRef.Name, key: from.ConfigMapKeyRef.Key}, from.ConfigMapKeyRef.Optional)
		case from.SecretKeyRef != nil:
			add(need{secret: true, name: from.SecretKeyRef.Name, key: from.SecretKeyRef.Key}, from.SecretKeyRef.Optional)
		}
	}
	return needs
}
