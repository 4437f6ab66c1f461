package podspec

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/span"
)

// The annotations of a pod that tell how it behaves. Except for AnnotationStartDelay
// each holds for all containers of the pod that are no init containers, or, with a
// dot and a container's name appended, for that one. Durations are written as in
// Go ("90s", "1h30m").
const (
	// AnnotationStartDelay is how long the pod's sandbox takes to be made.
	AnnotationStartDelay = "minikcm.dev/start-delay"
	// AnnotationReadyDelay is from a container's start until its readiness probe
	// succeeds; "never" for never.
	AnnotationReadyDelay = "minikcm.dev/ready-delay"
	// AnnotationExitAfter is how long each run of a container takes; "never" when it
	// runs until it is stopped.
	AnnotationExitAfter = "minikcm.dev/exit-after"
	// AnnotationExitCode is what a container that ends by itself exits with.
	AnnotationExitCode = "minikcm.dev/exit-code"
	// AnnotationStopDelay is from the signal to stop until the container has ended;
	// the grace period cuts it short.
	AnnotationStopDelay = "minikcm.dev/stop-delay"
	// AnnotationPullError is why the container's image cannot be pulled, unless the
	// node has it already.
	AnnotationPullError = "minikcm.dev/pull-error"
	// AnnotationLog is what each run of a container writes when it begins, line by
	// line, in place of what its command would write.
	AnnotationLog = "minikcm.dev/log"
	// AnnotationLogEvery is after what time the container writes AnnotationLog again.
	AnnotationLogEvery = "minikcm.dev/log-every"
)

// Annotations reads a pod's annotations for one container.
type Annotations struct {
	Pod       *corev1.Pod
	Container string
	// NamedOnly is whether only what names the container is meant for it.
	NamedOnly bool
}

func (a Annotations) Get(key string) (string, bool) {
	if a.Container != "" {
		if v, ok := a.Pod.Annotations[key+"."+a.Container]; ok {
			return v, true
		}
	}
	if a.NamedOnly {
		return "", false
	}
	v, ok := a.Pod.Annotations[key]
	return v, ok
}

// Duration and int32 leave the value as it is when the annotation is missing or
// cannot be read; badAnnotations tells the user.
func (a Annotations) Duration(key string, value *time.Duration) (ok bool) {
	text, ok := a.Get(key)
	if !ok {
		return false
	}
	d, err := ParseDuration(text)
	if err != nil {
		return false
	}
	*value = d
	return true
}

func (a Annotations) ExitCode(key string, value *int32) (ok bool) {
	text, _ := a.Get(key)
	n, err := ParseExitCode(text)
	if err != nil {
		return false
	}
	*value = n
	return true
}

func ParseDuration(text string) (time.Duration, error) {
	if text == "never" {
		return span.Forever, nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration such as 5s, nor never", text)
	case d < 0:
		return 0, fmt.Errorf("%q is negative", text)
	}
	return d, nil
}

func ParseExitCode(text string) (int32, error) {
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("%q is not an exit code from 0 to 255", text)
	}
	return int32(n), nil
}
