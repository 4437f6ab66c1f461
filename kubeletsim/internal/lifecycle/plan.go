package lifecycle

import (
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/internal/span"
	"minikcm.dev/minikcm/internal/usage"
)

// plan records when and how a running container will end without intervention.
func (c *Container) plan(pod *corev1.Pod, spec *corev1.Container, does behaviour) {
	c.Quiet = does.quiet
	c.exitAt, c.exitCode, c.exitReason, c.exitMessage = span.After(c.startedAt, does.runs), does.exitCode, does.exitReason, does.exitMessage
	if c.Kind == podspec.InitContainer || c.Kind == podspec.EphemeralContainer || len(pod.Annotations) == 0 {
		return
	}
	if at := usage.OutOfMemoryAt(pod, spec, c.startedAt); !at.IsZero() && (c.exitAt.IsZero() || at.Before(c.exitAt)) {
		c.exitAt, c.exitCode, c.exitReason, c.exitMessage = at, ExitKilled, usage.ReasonOOMKilled, ""
	}
}
