package kubeletsim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// stopUnhealthy stops containers whose startup or liveness probe has failed as often as
// it may, as AnnotationHTTP lets it. Whether they run again is up to the restart policy.
func (s *stepper) stopUnhealthy() bool {
	if len(s.pod.Annotations) == 0 || s.state.terminating {
		return false
	}
	moved := false
	for i := range s.state.containers {
		c, ref := &s.state.containers[i], s.refs[i]
		if c.phase != running || !c.stopAt.IsZero() || c.kind == ephemeralContainer {
			continue
		}
		moved = s.checkAlive(c, ref, s.checkStarted(i)) || moved
	}
	return moved
}

func (s *stepper) checkAlive(c *container, ref containerRef, started bool) bool {
	probe, name, title := ref.StartupProbe, "startup", "Startup"
	if started {
		probe, name, title = ref.LivenessProbe, "liveness", "Liveness"
	}
	if !probeFails(s.pod, ref.Container, c.kind, probe) {
		c.failing = time.Time{}
		return false
	}
	if first := c.startedAt.Add(time.Duration(probe.InitialDelaySeconds) * time.Second); c.failing.IsZero() {
		c.failing = latest(first, s.now)
	}
	failures := time.Duration(max(probe.FailureThreshold, 1) - 1)
	if !s.due(c.failing.Add(failures * time.Duration(max(probe.PeriodSeconds, 1)) * time.Second)) {
		return false
	}
	grace := s.grace()
	if seconds := probe.TerminationGracePeriodSeconds; seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	s.report(&ref, corev1.EventTypeWarning, "Unhealthy", title+" probe failed: "+s.failure(c, ref, probe))
	s.report(&ref, corev1.EventTypeNormal, "Killing", fmt.Sprintf("Container %s failed %s probe, will be restarted", c.name, name))
	s.signal(c, ref, s.now.Add(grace))
	return true
}

// failure is why a probe fails, as upstream's prober says it.
func (s *stepper) failure(c *container, ref containerRef, probe *corev1.Probe) string {
	answers, _ := httpOf(s.pod, c.name, c.kind)
	address := s.state.address.String()
	if probe.TCPSocket != nil {
		return fmt.Sprintf("dial tcp %s:%d: connect: connection refused", address, portNumber(ref.Container, probe.TCPSocket.Port))
	}
	get := probe.HTTPGet
	port, path := portNumber(ref.Container, get.Port), get.Path
	if path == "" {
		path = "/"
	}
	if !listens(answers, port) {
		return fmt.Sprintf("Get \"http://%s:%d%s\": dial tcp %s:%d: connect: connection refused", address, port, path, address, port)
	}
	return fmt.Sprintf("HTTP probe failed with statuscode: %d", answerTo(answers, port, path).status)
}
