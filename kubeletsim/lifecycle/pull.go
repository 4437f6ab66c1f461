package lifecycle

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/podspec"
)

// pull makes a container's image present on the node, which takes no time, and reports it. It
// returns false if the pull failed and the next attempt is not due. With the policy Never every
// image counts as present.
func (s *stepper) pull(c *Container, ref podspec.Container) bool {
	if c.configError != "" {
		// The previous attempt to create the container pulled it.
		return true
	}
	present := ref.ImagePullPolicy == corev1.PullNever || slices.Contains(s.images, ref.Image) || s.HasImage(ref.Image)
	if present && ref.ImagePullPolicy != corev1.PullAlways {
		c.pullError, c.pullDelay = "", 0
		s.report(&ref, corev1.EventTypeNormal, "Pulled",
			fmt.Sprintf("Container image %q already present on machine and can be accessed by the pod", ref.Image))
		return true
	}
	if c.pullError != "" && c.pullImage != ref.Image {
		c.pullError, c.pullDelay = "", 0
	}
	if c.pullError != "" && !s.due(c.pullDue) {
		return false
	}
	s.report(&ref, corev1.EventTypeNormal, "Pulling", fmt.Sprintf("Pulling image %q", ref.Image))
	if why := s.pullFailure(ref); why != "" {
		s.pullFailed(c, ref, why)
		return false
	}
	c.pullError, c.pullDelay = "", 0
	if !present {
		s.images = append(s.images, ref.Image)
	}
	s.report(&ref, corev1.EventTypeNormal, "Pulled",
		fmt.Sprintf("Successfully pulled image %q in 0s (0s including waiting). Image size: 0 bytes.", ref.Image))
	return true
}

// pullFailure returns why the image cannot be pulled, from the pod's annotation or from
// FailImagePull; empty if it can.
func (s *stepper) pullFailure(ref podspec.Container) string {
	a := podspec.Annotations{Pod: s.Pod, Container: ref.Name, NamedOnly: ref.Kind == podspec.InitContainer}
	if why, ok := a.Get(podspec.AnnotationPullError); ok {
		return why
	}
	return s.PullError(ref.Image)
}

func (s *stepper) pullFailed(c *Container, ref podspec.Container, why string) {
	c.pullImage, c.pullError = ref.Image, why
	c.pullDelay = s.Backoff.next(c.pullDelay)
	c.pullDue = s.Now.Add(c.pullDelay)
	for _, message := range []string{
		fmt.Sprintf("Failed to pull image %q: %s", ref.Image, why),
		"Error: ErrImagePull",
	} {
		s.report(&ref, corev1.EventTypeWarning, "Failed", message)
	}
	s.report(&ref, corev1.EventTypeNormal, "BackOff", fmt.Sprintf("Back-off pulling image %q", ref.Image))
	s.report(&ref, corev1.EventTypeWarning, "Failed", "Error: ImagePullBackOff")
	s.due(c.pullDue)
}
