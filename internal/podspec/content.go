package podspec

import corev1 "k8s.io/api/core/v1"

// annotationKnownContent marks, before a container's name, that a profile describes the content of its image. It is
// not in the API: package images adds it to the pods that it completes.
const annotationKnownContent = "minikcm.dev/known-content."

// AnnotationKnownContent returns the annotation of a container whose image is described.
func AnnotationKnownContent(container string) string { return annotationKnownContent + container }

// KnownContent reports whether a profile describes the content of a container's image.
func KnownContent(pod *corev1.Pod, container string) bool {
	_, known := pod.Annotations[annotationKnownContent+container]
	return known
}
