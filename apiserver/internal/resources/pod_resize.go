package resources

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

// podResize changes the resources of a pod's containers while they run (KEP-1287).
func podResize() Subresource {
	return Subresource{
		Name: "resize", GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Verbs: StatusVerbs, Since: 32, NoTable: true,
		New:    func() runtime.Object { return &corev1.Pod{} },
		Get:    func(parent runtime.Object) (runtime.Object, error) { return parent, nil },
		Update: writeInto(resizePod),
	}
}

// resizePod copies the resources and resize policies of containers from sent, and
// nothing else.
func resizePod(pod, sent *corev1.Pod) error {
	defaultPod(sent)
	keepPodLevelResources(sent, pod)
	if errs := validation.PodResize(pod, sent); len(errs) > 0 {
		return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), pod.Name, errs)
	}
	validation.TakeResized(pod.Spec.Containers, sent.Spec.Containers)
	validation.TakeResized(pod.Spec.InitContainers, sent.Spec.InitContainers)
	return nil
}
