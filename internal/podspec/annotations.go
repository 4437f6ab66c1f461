package podspec

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/quantity"
	"minikcm.dev/minikcm/internal/span"
)

// The annotations that describe how a pod behaves. Except for AnnotationStartDelay, each
// applies to all app containers of the pod or, with a dot and a container's name appended, to
// that container; init containers need the name. Durations are written as in Go ("90s",
// "1h30m").
const (
	// AnnotationStartDelay is the time that the pod's sandbox takes to get ready.
	AnnotationStartDelay = "minikcm.dev/start-delay"
	// AnnotationReadyDelay is the time from a container's start until its readiness probe
	// succeeds, or "never".
	AnnotationReadyDelay = "minikcm.dev/ready-delay"
	// AnnotationExitAfter is the duration of each run of a container, or "never".
	AnnotationExitAfter = "minikcm.dev/exit-after"
	// AnnotationExitCode is the exit code of a container that ends without being stopped.
	AnnotationExitCode = "minikcm.dev/exit-code"
	// AnnotationStopDelay is the time from the termination signal to the container's end. The
	// grace period bounds it.
	AnnotationStopDelay = "minikcm.dev/stop-delay"
	// AnnotationPullError is the error of pulling the container's image, unless the node
	// already has the image.
	AnnotationPullError = "minikcm.dev/pull-error"
	// AnnotationPullDuration is the time that it takes to pull the container's image, or "never",
	// unless the node already has the image. AnnotationImageSize is the image's size, a quantity
	// of bytes.
	AnnotationPullDuration = "minikcm.dev/pull-duration"
	AnnotationImageSize    = "minikcm.dev/image-size"
	// AnnotationLog is the text that each run of a container writes when it starts, instead of
	// its command's output.
	AnnotationLog = "minikcm.dev/log"
	// AnnotationLogEvery is the period after which the container writes AnnotationLog again.
	AnnotationLogEvery = "minikcm.dev/log-every"
	// AnnotationFiles declares files of a container's image, one a line: a path and a text.
	AnnotationFiles = "minikcm.dev/files"
)

// Annotations looks up a pod's annotations for one container.
type Annotations struct {
	Pod       *corev1.Pod
	Container string
	// NamedOnly ignores annotations without the container's name.
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

// Duration and ExitCode parse an annotation into value. They leave value alone and return false
// if it is missing or invalid.
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

// Bytes parses an annotation; 0 if it is missing or invalid.
func (a Annotations) Bytes(key string) int64 {
	text, _ := a.Get(key)
	n, err := ParseBytes(text)
	if err != nil {
		return 0
	}
	return n
}

func ParseBytes(text string) (int64, error) {
	amount, err := quantity.Parse(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a number of bytes such as 120Mi", text)
	case amount.Sign() < 0:
		return 0, fmt.Errorf("%q is negative", text)
	}
	return amount.Value(), nil
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
