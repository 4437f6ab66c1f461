package lifecycle

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
)

// misnamed reports whether the name of a container's image cannot be read. It emits its events once for each name.
func (s *stepper) misnamed(c *Container, ref podspec.Container) bool {
	problem := podspec.ImageProblem(ref.Image)
	if problem != "" && c.imageError != problem {
		c.pullError, c.pullDelay, c.pullSince = "", 0, time.Time{}
		s.report(&ref, corev1.EventTypeWarning, "InspectFailed", problem)
		s.report(&ref, corev1.EventTypeWarning, "Failed", "Error: "+reasonInvalidImage)
	}
	c.imageError = problem
	return problem != ""
}

// pull makes a container's image present on the node and reports it. It returns false while the pull
// goes on, or if it failed and the next attempt is not due. With the policy Never every image counts
// as present.
func (s *stepper) pull(c *Container, ref podspec.Container) bool {
	if c.configError != "" {
		// The previous attempt to create the container pulled it.
		return true
	}
	if c.pullImage != ref.Image {
		c.pullError, c.pullDelay, c.pullSince = "", 0, time.Time{}
	}
	present := ref.ImagePullPolicy == corev1.PullNever || s.hasImage(ref.Image)
	if present && ref.ImagePullPolicy != corev1.PullAlways && c.pullSince.IsZero() {
		c.pullError, c.pullDelay = "", 0
		s.report(&ref, corev1.EventTypeNormal, "Pulled",
			fmt.Sprintf("Container image %q already present on machine and can be accessed by the pod", ref.Image))
		return true
	}
	if c.pullError != "" && !s.due(c.pullDue) {
		return false
	}
	a := imageAnnotations(s.Pod, ref)
	if c.pullSince.IsZero() {
		s.report(&ref, corev1.EventTypeNormal, "Pulling", fmt.Sprintf("Pulling image %q", ref.Image))
		var lasts time.Duration
		if !present {
			a.Duration(podspec.AnnotationPullDuration, &lasts)
		}
		c.pullImage, c.pullSince, c.pullEnds = ref.Image, s.Now, later(s.Now, lasts)
	}
	if why := s.pullFailure(a, ref.Image); why != "" {
		c.pullSince = time.Time{}
		s.pullFailed(c, ref, why)
		return false
	}
	if !s.due(c.pullEnds) {
		return false
	}
	took, size := s.Now.Sub(c.pullSince).Truncate(time.Millisecond), a.Bytes(podspec.AnnotationImageSize)
	c.pullError, c.pullDelay, c.pullSince = "", 0, time.Time{}
	if !s.hasImage(ref.Image) {
		s.images = append(s.images, Image{ref.Image, size})
	}
	s.report(&ref, corev1.EventTypeNormal, "Pulled",
		fmt.Sprintf("Successfully pulled image %q in %s (%s including waiting). Image size: %d bytes.", ref.Image, took, took, size))
	return true
}

// hasImage reports whether the node has an image, or gets it in this step.
func (s *stepper) hasImage(name string) bool {
	return slices.ContainsFunc(s.images, func(i Image) bool { return i.Name == name }) || s.HasImage(name)
}

// imageAnnotations are the pod's annotations about a container's image.
func imageAnnotations(pod *corev1.Pod, ref podspec.Container) podspec.Annotations {
	return podspec.Annotations{Pod: pod, Container: ref.Name, NamedOnly: ref.Kind == podspec.InitContainer}
}

// pullFailure returns why the image cannot be pulled, from the pod's annotation or from
// FailImagePull; empty if it can.
func (s *stepper) pullFailure(a podspec.Annotations, image string) string {
	if why, ok := a.Get(podspec.AnnotationPullError); ok {
		return why
	}
	return s.PullError(image)
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
