package admission

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// container holds the fields that plugins read and set in a container of any type.
type container struct {
	image  *string
	policy *corev1.PullPolicy
	path   func() *field.Path
}

// containers iterates over the containers of a pod: first the init containers, then the
// others, then the ephemeral ones.
func containers(pod *corev1.Pod) iter.Seq[container] {
	return func(yield func(container) bool) {
		spec := field.NewPath("spec")
		at := func(list string, i int) func() *field.Path {
			return func() *field.Path { return spec.Child(list).Index(i) }
		}
		for i := range pod.Spec.InitContainers {
			c := &pod.Spec.InitContainers[i]
			if !yield(container{&c.Image, &c.ImagePullPolicy, at("initContainers", i)}) {
				return
			}
		}
		for i := range pod.Spec.Containers {
			c := &pod.Spec.Containers[i]
			if !yield(container{&c.Image, &c.ImagePullPolicy, at("containers", i)}) {
				return
			}
		}
		for i := range pod.Spec.EphemeralContainers {
			c := &pod.Spec.EphemeralContainers[i]
			if !yield(container{&c.Image, &c.ImagePullPolicy, at("ephemeralContainers", i)}) {
				return
			}
		}
	}
}

// pullPolicies iterates over the pull policies of a pod's containers and image volumes,
// and their paths.
func pullPolicies(pod *corev1.Pod) iter.Seq2[*corev1.PullPolicy, func() *field.Path] {
	return func(yield func(*corev1.PullPolicy, func() *field.Path) bool) {
		for c := range containers(pod) {
			if !yield(c.policy, func() *field.Path { return c.path().Child("imagePullPolicy") }) {
				return
			}
		}
		for i := range pod.Spec.Volumes {
			image := pod.Spec.Volumes[i].Image
			path := func() *field.Path {
				return field.NewPath("spec", "volumes").Index(i).Child("image", "pullPolicy")
			}
			if image != nil && !yield(&image.PullPolicy, path) {
				return
			}
		}
	}
}
