package responses

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
)

func HTTPFailure(status int) string {
	if status < statusBadRequest {
		return ""
	}
	return fmt.Sprintf("HTTP probe failed with statuscode: %d", status)
}

func ProbePath(get *corev1.HTTPGetAction) string {
	if get.Path == "" {
		return "/"
	}
	path, _, _ := strings.Cut(get.Path, "?")
	return path
}

// ProbedHTTP returns the answer of AnnotationHTTP to a probe; its Port is 0 if nothing listens
// there. declared is false if there is no annotation.
func ProbedHTTP(pod *corev1.Pod, ref podspec.Container, get *corev1.HTTPGetAction) (a HTTP, port int32, declared bool) {
	answers, declared := HTTPOf(pod, ref.Name, ref.Kind)
	port = PortNumber(ref.Container, get.Port)
	if !declared || !Listens(answers, port) {
		return HTTP{}, port, declared
	}
	a = HTTPTo(answers, port, ProbePath(get))
	a.Port = port
	return a, port, true
}
