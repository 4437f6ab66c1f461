package lifecycle

import (
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/podspec"
	"minikcm.dev/minikcm/kubeletsim/span"
)

// Occurrence is what somebody does to a pod's container from outside, or to all of its
// containers if the name is empty.
type Occurrence struct {
	Container string
	Kind      OccurrenceKind
	// ExitCode and, if not empty, reason are what a crash ends with; message is why a
	// readiness probe fails.
	ExitCode int32
	Reason   string
	Message  string
	Probe    ProbeKind
	// Run, if not empty, is the container ID of the only run that it is for.
	Run string
}

type OccurrenceKind int

const (
	Crash OccurrenceKind = iota
	Unready
	ReadyAgain
	// Reboot ends all containers and the pod's sandbox with them.
	Reboot
	// Lost is that nobody can tell any more what a container's process does; spinning,
	// that it never comes to an end.
	Lost
	Spinning
	// TrapsSet and trapsNot are that the process has handlers for signals, or none any more.
	TrapsSet
	TrapsCleared
	// ProbeSucceeded is what a container answered to a probe, message, if it failed; notProbed that
	// it could not be asked.
	ProbeSucceeded
	ProbeFailed
	ProbeSkipped
)

func (s *stepper) applyOccurrences() {
	for _, f := range s.Occurrences {
		if f.Kind == Reboot {
			s.reboot()
			continue
		}
		for i := range s.State.Containers {
			c := &s.State.Containers[i]
			if f.Container != "" && f.Container != c.Name || f.Run != "" && f.Run != ContainerID(s.Pod.UID, c.Name, c.Restarts) {
				continue
			}
			switch {
			case f.Kind > Reboot && c.Phase == Running:
				s.heed(i, f)
			case f.Kind == Crash && c.Phase == Running:
				s.end(c, f.ExitCode, f.Reason)
			case f.Kind == Unready && c.unready == "" && c.Phase == Running:
				c.unready = f.Message
				s.report(&s.refs[i], corev1.EventTypeWarning, "Unhealthy", "Readiness probe failed: "+f.Message)
			case f.Kind == ReadyAgain:
				c.unready = ""
			}
		}
	}
}

// reboot is the pod's machine having gone down and come back. A pod that may be
// restarted gets a new sandbox, and begins with its init containers again.
func (s *stepper) reboot() {
	st := &s.State
	for i := range st.Containers {
		if c := &st.Containers[i]; c.Phase == Running {
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

// heed takes note of what is heard of a container's process.
func (s *stepper) heed(i int, f Occurrence) {
	c := &s.State.Containers[i]
	switch f.Kind {
	case TrapsSet, TrapsCleared:
		c.traps = f.Kind == TrapsSet
	case ProbeSucceeded, ProbeFailed:
		s.answer(i, f.Probe, f.Kind == ProbeFailed, f.Message)
	case ProbeSkipped:
		c.probes[f.Probe].asking = false
		c.probes[f.Probe].due = s.Now.Add(period(f.Probe.Of(s.refs[i].Container)))
	case Lost:
		c.exitAt = span.After(s.Now, defaultRun(s.Pod, c.Kind, s.Latencies))
		c.Live, c.traps = false, false
	case Spinning:
		c.Live, c.traps = false, false
	}
}
