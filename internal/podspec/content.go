package podspec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// annotationKnownContent marks, before a container's name, that a profile describes the content of its image. It is
// not in the API: package images adds it to the pods that it completes.
const annotationKnownContent = "minikcm.dev/known-content."

// AnnotationKnownContent returns the annotation of a container whose image is described.
func AnnotationKnownContent(container string) string { return annotationKnownContent + container }

// annotationProfile is, before the rest of an annotation's name, the annotation that names the profile from which it is. As
// annotationKnownContent, it is not in the API.
const annotationProfile = "minikcm.dev/profile."

// AnnotationProfile returns the annotation that names the profile which has added another annotation to a pod.
func AnnotationProfile(added string) string {
	return annotationProfile + strings.TrimPrefix(added, "minikcm.dev/")
}

// KnownContent reports whether a profile describes the content of a container's image.
func KnownContent(pod *corev1.Pod, container string) bool {
	_, known := pod.Annotations[annotationKnownContent+container]
	return known
}
