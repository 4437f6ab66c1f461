package resources

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

// setEphemeralContainers adds debugging containers to a pod. Existing ones cannot be
// removed (KEP-277).
func setEphemeralContainers(pod, sent *corev1.Pod) error {
	old := pod.Spec.EphemeralContainers
	pod.Spec.EphemeralContainers = sent.Spec.EphemeralContainers
	defaultPod(pod)
	if errs := validation.EphemeralContainers(pod.Spec.EphemeralContainers, old); len(errs) > 0 {
		return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), pod.Name, errs)
	}
	return nil
}
