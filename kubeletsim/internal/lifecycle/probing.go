package lifecycle

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/internal/span"
)

type ProbeKind int

const (
	startupProbe ProbeKind = iota
	readinessProbe
	livenessProbe
	probeKinds
)

// String returns the kind's name in events.
func (k ProbeKind) String() string { return [...]string{"Startup", "Readiness", "Liveness"}[k] }

func (k ProbeKind) Of(c *corev1.Container) *corev1.Probe {
	return [...]*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe}[k]
}

// probeState is the progress of one probe of a running container. The zero value is a probe
// that has not been run.
type probeState struct {
	// due is the time of the next attempt. asked means that an attempt is under way.
	due   time.Time
	asked bool
	// led means that a process outside of the cluster answers.
	led bool
	// successes and failures count consecutive results.
	successes, failures int32
	// succeeded means that the success threshold has been reached, failed that the failure
	// threshold has been.
	succeeded, failed bool
}

// ProbeRequest is a probe that the caller has to run.
type ProbeRequest struct {
	Container int
	Kind      ProbeKind
}

// checkUp advances one of a container's probes and reports whether it succeeds. A probe whose
// result follows from the pod is not repeated after it has succeeded, until the pod changes the
// result.
func (s *stepper) checkUp(i int, kind ProbeKind) bool {
	c, ref := &s.State.Containers[i], s.refs[i]
	p, probe := &c.probes[kind], kind.Of(ref.Container)
	if probe == nil {
		return true
	}
	if led := ProbedAddress(s.Pod, ref, probe) != ""; led != p.led {
		*p = probeState{asked: p.asked, led: led} // what another server answered does not count
	}
	if p.asked {
		return p.succeeded
	}
	if p.due.IsZero() {
		p.due = latest(c.startedAt.Add(time.Duration(probe.InitialDelaySeconds)*time.Second), s.Now)
	}
	if why := unresolved(ref, probe); why != "" {
		if s.due(p.due) {
			s.skipProbe(i, kind, why)
		}
		return p.succeeded
	}
	seen := s.Observed.of(c.Name)
	if (seen.Course == 0 || probe.Exec == nil) && s.needsRun(ref, probe) {
		if s.due(p.due) {
			p.asked = true
			s.probesDue = append(s.probesDue, ProbeRequest{i, kind})
		}
		return p.succeeded
	}
	why := s.failure(ref, probe)
	if seen.Course == NeverStarted && kind == startupProbe {
		why = unknownFailure
	}
	if why == "" && p.successes >= max(probe.SuccessThreshold, 1) {
		return true
	}
	if p.successes > 0 && why != "" {
		p.due = latest(p.due, s.Now)
	}
	for s.due(p.due) && (why != "" || p.successes < max(probe.SuccessThreshold, 1)) {
		s.recordProbe(i, kind, why != "", why)
	}
	return p.succeeded
}

// unknownFailure is why a probe fails that was observed to fail.
const unknownFailure = "it has failed before; the pod's status does not say why"

// recordProbe counts the result of a probe.
func (s *stepper) recordProbe(i int, kind ProbeKind, failed bool, why string) {
	c, ref := &s.State.Containers[i], s.refs[i]
	p, probe := &c.probes[kind], kind.Of(ref.Container)
	if probe == nil {
		return
	}
	p.asked = false
	p.due = latest(p.due.Add(period(probe)), s.Now)
	if !failed {
		p.successes, p.failures = p.successes+1, 0
		if p.successes >= max(probe.SuccessThreshold, 1) {
			p.succeeded, p.failed = true, false
		}
		return
	}
	p.successes, p.failures = 0, p.failures+1
	s.report(&ref, corev1.EventTypeWarning, "Unhealthy", fmt.Sprintf("%s probe failed: %s", kind, why))
	if p.failures >= max(probe.FailureThreshold, 1) {
		p.succeeded, p.failed = false, true
	}
}

// skipProbe ends an attempt that has no result. Upstream's kubelet makes an event of the error, if there is one, and counts nothing.
func (s *stepper) skipProbe(i int, kind ProbeKind, why string) {
	if why != "" {
		s.report(&s.refs[i], corev1.EventTypeWarning, "Unhealthy", fmt.Sprintf("%s probe errored and resulted in unknown state: %s", kind, why))
	}
	p := &s.State.Containers[i].probes[kind]
	p.asked, p.due = false, s.Now.Add(period(kind.Of(s.refs[i].Container)))
}

func period(probe *corev1.Probe) time.Duration {
	return time.Duration(max(probe.PeriodSeconds, 1)) * time.Second
}

// probe updates whether the running containers have started and are ready.
func (s *stepper) probe() {
	for i := range s.State.Containers {
		c := &s.State.Containers[i]
		if c.Phase == Running {
			c.ready = s.checkStarted(i) && s.checkReady(i) && c.unready == "" && !s.Observed.of(c.Name).neverReady()
		}
	}
}

// checkStarted advances the container's startup probe and reports whether the container has
// started.
func (s *stepper) checkStarted(i int) bool {
	c := &s.State.Containers[i]
	if c.Phase != Running {
		return false
	}
	c.started = c.started || s.checkUp(i, startupProbe)
	return c.started
}

// checkReady reports whether the readiness probe succeeds. Latencies.ContainerReady, or
// AnnotationReadyDelay, is the time of the first success.
func (s *stepper) checkReady(i int) bool {
	c, ref := &s.State.Containers[i], s.refs[i]
	var delay time.Duration
	if c.Kind != podspec.InitContainer {
		delay = s.Latencies.ContainerReady
	}
	delayed := delay > 0
	if len(s.Pod.Annotations) > 0 {
		a := podspec.Annotations{Pod: s.Pod, Container: c.Name, NamedOnly: c.Kind == podspec.InitContainer}
		delayed = a.Duration(podspec.AnnotationReadyDelay, &delay) || delayed
	}
	if delayed && !s.dueAfter(c.startedAt, span.Sum(startupTime(ref.StartupProbe), delay)) {
		return false
	}
	return s.checkUp(i, readinessProbe)
}

// startupTime is the time until a probe whose every attempt succeeds reaches its threshold.
func startupTime(p *corev1.Probe) time.Duration {
	if p == nil {
		return 0
	}
	return time.Duration(p.InitialDelaySeconds)*time.Second + time.Duration(max(p.SuccessThreshold, 1)-1)*period(p)
}

// stopUnhealthy stops containers whose startup or liveness probe has reached its failure
// threshold. The restart policy decides whether they run again.
func (s *stepper) stopUnhealthy() bool {
	moved := false
	for i := range s.State.Containers {
		c, ref := &s.State.Containers[i], s.refs[i]
		if s.State.terminating || c.Phase != Running || !c.StopAt.IsZero() || ref.StartupProbe == nil && ref.LivenessProbe == nil {
			continue
		}
		kind := startupProbe
		if s.checkStarted(i) {
			kind = livenessProbe
			s.checkUp(i, kind)
		}
		if c.probes[kind].failed {
			s.stopFailed(c, ref, kind)
			moved = true
		}
	}
	return moved
}

func (s *stepper) stopFailed(c *Container, ref podspec.Container, kind ProbeKind) {
	name, grace := "startup", s.grace()
	if kind == livenessProbe {
		name = "liveness"
	}
	if seconds := kind.Of(ref.Container).TerminationGracePeriodSeconds; seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	message := fmt.Sprintf("Container %s failed %s probe", c.Name, name)
	if s.Pod.Spec.RestartPolicy != corev1.RestartPolicyNever || c.Kind == podspec.SidecarContainer {
		message += ", will be restarted"
	}
	s.report(&ref, corev1.EventTypeNormal, "Killing", message)
	s.signal(c, ref, s.Now.Add(grace))
}
