package podspec

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AnnotationManifest of a mirror pod names the manifest of its static pod: the namespace and the
// name of a ConfigMap, and a key.
const AnnotationManifest = "minikcm.dev/manifest"

// IsMirror reports whether a pod mirrors a static pod of a simulated node. A mirror pod that came
// from another cluster does not.
func IsMirror(pod *corev1.Pod) bool {
	_, declared := pod.Annotations[AnnotationManifest]
	return declared && MirrorHash(pod) != ""
}

// MirrorHash returns the hash of the static pod that a pod mirrors; empty if it mirrors none.
func MirrorHash(pod *corev1.Pod) string { return pod.Annotations[corev1.MirrorPodAnnotationKey] }

// RuntimeUID returns the UID by which a container runtime knows a pod. All mirror pods of a static
// pod have the UID of the static pod, which is its hash, so that its containers outlive them.
func RuntimeUID(pod *corev1.Pod) types.UID {
	if IsMirror(pod) {
		return types.UID(MirrorHash(pod))
	}
	return pod.UID
}
