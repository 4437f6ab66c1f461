package lifecycle

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/podspec"
	"minikcm.dev/minikcm/kubeletsim/span"
)

type ProbeKind int

const (
	startupProbe ProbeKind = iota
	readinessProbe
	livenessProbe
	probeKinds
)

// String is how events name the kind.
func (k ProbeKind) String() string { return [...]string{"Startup", "Readiness", "Liveness"}[k] }

func (k ProbeKind) Of(c *corev1.Container) *corev1.Probe {
	return [...]*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe}[k]
}

// probing is what one probe of a running container has come to. The zero value is one that
// has not been asked yet.
type probing struct {
	// due is when the container is to be asked next; asking is whether an answer is
	// awaited.
	due    time.Time
	asking bool
	// good and bad are how many answers of the kind came last, one after the other.
	good, bad int32
	// up is whether it has succeeded as often as it has to; failed whether it has failed as
	// often as it may.
	up, failed bool
}

// ProbeRequest is a probe that somebody has to ask: the answer depends on more than the pod.
type ProbeRequest struct {
	Container int
	Kind      ProbeKind
}

// checkUp keeps one of a container's probes; true while it succeeds. A probe whose answer
// follows from the pod is asked as often as the answer matters: not again after it has
// succeeded, until the pod says otherwise.
func (s *stepper) checkUp(i int, kind ProbeKind) bool {
	c, ref := &s.State.Containers[i], s.refs[i]
	p, probe := &c.probes[kind], kind.Of(ref.Container)
	if probe == nil {
		return true
	}
	if p.asking {
		return p.up
	}
	if p.due.IsZero() {
		p.due = latest(c.startedAt.Add(time.Duration(probe.InitialDelaySeconds)*time.Second), s.Now)
	}
	if asksOutside(s.Pod, ref, probe) {
		if s.due(p.due) {
			p.asking = true
			s.probesDue = append(s.probesDue, ProbeRequest{i, kind})
		}
		return p.up
	}
	why := s.failure(ref, probe)
	if why == "" && p.good >= max(probe.SuccessThreshold, 1) {
		return true
	}
	if p.good > 0 && why != "" {
		p.due = latest(p.due, s.Now)
	}
	for s.due(p.due) && (why != "" || p.good < max(probe.SuccessThreshold, 1)) {
		s.answer(i, kind, why != "", why)
	}
	return p.up
}

// answer counts what a container answered to a probe.
func (s *stepper) answer(i int, kind ProbeKind, failed bool, why string) {
	c, ref := &s.State.Containers[i], s.refs[i]
	p, probe := &c.probes[kind], kind.Of(ref.Container)
	if probe == nil {
		return
	}
	p.asking = false
	p.due = latest(p.due.Add(period(probe)), s.Now)
	if !failed {
		p.good, p.bad = p.good+1, 0
		if p.good >= max(probe.SuccessThreshold, 1) {
			p.up, p.failed = true, false
		}
		return
	}
	p.good, p.bad = 0, p.bad+1
	s.report(&ref, corev1.EventTypeWarning, "Unhealthy", fmt.Sprintf("%s probe failed: %s", kind, why))
	if p.bad >= max(probe.FailureThreshold, 1) {
		p.up, p.failed = false, true
	}
}

func period(probe *corev1.Probe) time.Duration {
	return time.Duration(max(probe.PeriodSeconds, 1)) * time.Second
}

// probe asks the containers that run whether they have started and are ready.
func (s *stepper) probe() {
	for i := range s.State.Containers {
		c := &s.State.Containers[i]
		if c.Phase == Running {
			c.ready = s.checkStarted(i) && s.checkReady(i) && c.unready == ""
		}
	}
}

// checkStarted keeps the container's startup probe; true when it has started.
func (s *stepper) checkStarted(i int) bool {
	c := &s.State.Containers[i]
	if c.Phase != Running {
		return false
	}
	c.started = c.started || s.checkUp(i, startupProbe)
	return c.started
}

// checkReady is whether the readiness probe succeeds. Latencies.ContainerReady, and
// AnnotationReadyDelay in its place, say when it first does.
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

// startupTime is how long a probe takes that is always answered well.
func startupTime(p *corev1.Probe) time.Duration {
	if p == nil {
		return 0
	}
	return time.Duration(p.InitialDelaySeconds)*time.Second + time.Duration(max(p.SuccessThreshold, 1)-1)*period(p)
}

// stopUnhealthy stops containers whose startup or liveness probe has failed as often as
// it may. Whether they run again is up to the restart policy.
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
