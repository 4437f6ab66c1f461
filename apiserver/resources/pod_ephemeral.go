package resources

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// setEphemeralContainers adds debugging containers to a pod. Existing ones cannot be
// removed (KEP-277).
func setEphemeralContainers(pod, sent *corev1.Pod) error {
	old := pod.Spec.EphemeralContainers
	pod.Spec.EphemeralContainers = sent.Spec.EphemeralContainers
	defaultPod(pod)
	if errs := keptEphemeral(pod.Spec.EphemeralContainers, old); len(errs) > 0 {
		return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), pod.Name, errs)
	}
	return nil
}

func keptEphemeral(containers, old []corev1.EphemeralContainer) field.ErrorList {
	p := field.NewPath("spec", "ephemeralContainers")
	byName := make(map[string]*corev1.EphemeralContainer, len(containers))
	for i := range containers {
		byName[containers[i].Name] = &containers[i]
	}
	var errs field.ErrorList
	for i := range old {
		switch kept := byName[old[i].Name]; {
		case kept == nil:
			errs = append(errs, field.Forbidden(p, fmt.Sprintf("existing ephemeral containers %q may not be removed\n", old[i].Name)))
		case !apiequality.Semantic.DeepEqual(*kept, old[i]):
			errs = append(errs, field.Forbidden(p, fmt.Sprintf("existing ephemeral containers %q may not be changed\n", old[i].Name)))
		}
	}
	return errs
}
