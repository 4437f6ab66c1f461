package decide

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Use is how a pod uses a volume that is mounted with an SELinux label.
type Use struct {
	// Volume identifies the volume among the volumes of all pods.
	Volume string
	// Label is user:role:type:level, where parts may be empty; empty: the volume is not mounted
	// with a label.
	Label  string
	Policy corev1.PodSELinuxChangePolicy
}

// Cluster holds the inputs of the uses, besides the pod.
type Cluster struct {
	// VolumeOf returns the volume that a claim of the pod's namespace is bound to, or nil.
	VolumeOf func(claim string) *corev1.PersistentVolume
	// MountsLabels reports whether a CSI driver mounts volumes with labels.
	MountsLabels func(driver string) bool
}

// Uses returns the uses of a pod, and the names of the volumes that its containers mount with
// different labels, sorted.
func Uses(pod *corev1.Pod, cluster Cluster) (uses []Use, mixed []string) {
	labels := labelsOf(pod)
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		of, mounted := labels[v.Name]
		claim := claimOf(pod, v)
		var volume *corev1.PersistentVolume
		if claim != "" {
			volume = cluster.VolumeOf(claim)
		}
		switch {
		case !mounted, claim != "" && volume == nil:
			continue
		case len(of) > 1:
			mixed = append(mixed, v.Name)
			continue
		}
		if name := mountedWithLabels(volume, cluster); name != "" {
			uses = append(uses, useOf(pod, name, of))
		}
	}
	slices.Sort(mixed)
	return uses, mixed
}

func useOf(pod *corev1.Pod, volume string, labels []string) Use {
	use := Use{Volume: volume, Policy: corev1.SELinuxChangePolicyMountOption}
	if c := pod.Spec.SecurityContext; c != nil && c.SELinuxChangePolicy != nil {
		use.Policy = *c.SELinuxChangePolicy
	}
	if len(labels) == 1 && use.Policy != corev1.SELinuxChangePolicyRecursive {
		use.Label = labels[0]
	}
	if use.Label == "" {
		use.Policy = corev1.SELinuxChangePolicyRecursive
	}
	return use
}

// mountedWithLabels returns the identity of a volume that is mounted with a label; empty: it is
// not.
func mountedWithLabels(v *corev1.PersistentVolume, cluster Cluster) string {
	switch {
	case v == nil:
		return ""
	case v.Spec.CSI != nil && cluster.MountsLabels(v.Spec.CSI.Driver):
		return "csi/" + v.Spec.CSI.Driver + "^" + v.Spec.CSI.VolumeHandle
	case v.Spec.FC != nil, v.Spec.ISCSI != nil:
		return "volume/" + v.Name
	}
	return ""
}

// claimOf returns the name of the claim of a pod's volume, or "".
func claimOf(pod *corev1.Pod, v *corev1.Volume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return pod.Name + "-" + v.Name
	}
	return ""
}

// Claims returns the names of the claims that a pod uses.
func Claims(pod *corev1.Pod) []string {
	var claims []string
	for i := range pod.Spec.Volumes {
		if claim := claimOf(pod, &pod.Spec.Volumes[i]); claim != "" {
			claims = append(claims, claim)
		}
	}
	return claims
}

// labelsOf returns the distinct labels of the containers that mount each volume. A container
// without SELinux options has none.
func labelsOf(pod *corev1.Pod) map[string][]string {
	labels := map[string][]string{}
	add := func(mounts []corev1.VolumeMount, own *corev1.SecurityContext) {
		label, ok := labelOf(pod.Spec.SecurityContext, own)
		for _, mount := range mounts {
			of := labels[mount.Name]
			if ok && !slices.Contains(of, label) {
				of = append(of, label)
			}
			labels[mount.Name] = of
		}
	}
	for i := range pod.Spec.InitContainers {
		add(pod.Spec.InitContainers[i].VolumeMounts, pod.Spec.InitContainers[i].SecurityContext)
	}
	for i := range pod.Spec.Containers {
		add(pod.Spec.Containers[i].VolumeMounts, pod.Spec.Containers[i].SecurityContext)
	}
	for i := range pod.Spec.EphemeralContainers {
		add(pod.Spec.EphemeralContainers[i].VolumeMounts, pod.Spec.EphemeralContainers[i].SecurityContext)
	}
	return labels
}

// labelOf returns the label of a container's SELinux options, or else of its pod's; false: there
// are none.
func labelOf(ofPod *corev1.PodSecurityContext, own *corev1.SecurityContext) (string, bool) {
	var options *corev1.SELinuxOptions
	if ofPod != nil {
		options = ofPod.SELinuxOptions
	}
	if own != nil && own.SELinuxOptions != nil {
		options = own.SELinuxOptions
	}
	if options == nil {
		return "", false
	}
	label := strings.Join([]string{options.User, options.Role, options.Type, options.Level}, ":")
	if label == ":::" {
		label = ""
	}
	return label, true
}
