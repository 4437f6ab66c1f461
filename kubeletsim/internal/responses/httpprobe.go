package responses

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
