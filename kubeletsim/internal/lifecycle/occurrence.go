package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/internal/span"
)

// Occurrence is something that happens to a container of the pod, or to all of them if
// Container is empty, and that does not follow from the pod and the time: an injected fault, or a
// report of the container's running process.
type Occurrence struct {
	Container string
	Kind      OccurrenceKind
	// ExitCode, Reason, if not empty, and Message are the container's termination in a Crash. Of a
	// failed readiness probe, Message is why.
	ExitCode int32
	Reason   string
	Message  string
	Probe    ProbeKind
	Hook     HookKind
	// Grace bounds the grace period of an Eviction, whose Reason and Message are the pod's, and
	// Disruption means that the pod gets the condition DisruptionTarget.
	Grace      time.Duration
	Disruption bool
	// Run, if not empty, restricts the occurrence to the run with that container ID.
	Run string
}

type OccurrenceKind int

const (
	Crash OccurrenceKind = iota
	FailReadiness
	RestoreReadiness
	// Eviction means that the kubelet ends the pod because its node is short of a resource.
	Eviction
	// Reboot ends all containers and the pod's sandbox.
	Reboot
	// Lost means that the container's process can no longer be simulated, Spinning that it
	// never lets time pass.
	Lost
	Spinning
	// TrapsSet and TrapsCleared mean that the process has installed its first handler for a
	// signal, or removed its last.
	TrapsSet
	TrapsCleared
	// ProbeSucceeded and ProbeFailed are the result of a probe, ProbeFailed with a Message.
	// ProbeSkipped means that the probe could not be run.
	ProbeSucceeded
	ProbeFailed
	ProbeSkipped
	// HookSucceeded and HookFailed are the end of a hook.
	HookSucceeded
	HookFailed
)

func (s *stepper) applyOccurrences() {
	for _, f := range s.Occurrences {
		switch f.Kind {
		case Reboot:
			s.reboot()
			continue
		case Eviction:
			s.evict(f)
			continue
		}
		for i := range s.State.Containers {
			c := &s.State.Containers[i]
			if f.Container != "" && f.Container != c.Name || f.Run != "" && f.Run != ContainerID(podspec.RuntimeUID(s.Pod), c.Name, c.Restarts) {
				continue
			}
			switch {
			case f.Kind > Reboot && c.Phase == Running:
				s.applyObservation(i, f)
			case f.Kind == Crash && c.Phase == Running:
				s.end(c, f.ExitCode, f.Reason)
				c.termination.Message = f.Message
			case f.Kind == FailReadiness && c.unready == "" && c.Phase == Running:
				c.unready = f.Message
				s.report(&s.refs[i], corev1.EventTypeWarning, "Unhealthy", "Readiness probe failed: "+f.Message)
			case f.Kind == RestoreReadiness:
				c.unready = ""
			}
		}
	}
}

// evict ends the pod for good.
func (s *stepper) evict(f Occurrence) {
	st := &s.State
	if st.evicted {
		return
	}
	st.evicted, st.disrupted = true, f.Disruption
	st.reason, st.message = f.Reason, f.Message
	s.report(nil, corev1.EventTypeWarning, f.Reason, f.Message)
	s.terminate(s.Now.Add(min(f.Grace, s.grace())))
}

// reboot ends all containers as a restart of the machine does. A pod that may be restarted gets
// a new sandbox and runs its init containers again.
func (s *stepper) reboot() {
	st := &s.State
	for i := range st.Containers {
		c := &st.Containers[i]
		c.pullSince = time.Time{}
		if c.Phase == Running {
			s.end(c, exitUnknown, "Unknown")
		}
	}
	if !st.Sandbox || st.terminating || s.Pod.Spec.RestartPolicy == corev1.RestartPolicyNever {
		return
	}
	s.report(nil, corev1.EventTypeNormal, "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")
	st.Sandbox = false
	st.sandboxDue = later(s.Now, startDelay(s.Pod, s.Latencies))
	st.initialized = len(s.Pod.Spec.InitContainers) == 0
	for i := range st.Containers {
		if c := &st.Containers[i]; c.Kind == podspec.InitContainer && c.Phase == exited {
			c.changed = true
		}
	}
}

// applyObservation records a report of a container's running process.
func (s *stepper) applyObservation(i int, f Occurrence) {
	c := &s.State.Containers[i]
	switch f.Kind {
	case TrapsSet, TrapsCleared:
		c.traps = f.Kind == TrapsSet
	case ProbeSucceeded, ProbeFailed:
		s.recordProbe(i, f.Probe, f.Kind == ProbeFailed, f.Message)
	case ProbeSkipped:
		s.skipProbe(i, f.Probe, f.Message)
	case HookSucceeded, HookFailed:
		s.endHook(i, f)
	case Lost:
		c.exitAt = span.After(s.Now, defaultRun(s.Pod, c.Kind, s.Latencies))
		c.Live, c.traps = false, false
	case Spinning:
		c.Live, c.traps = false, false
	}
}
