package kubeletsim

import corev1 "k8s.io/api/core/v1"

// fault is what somebody does to a pod's container from outside, or to all of its
// containers if the name is empty.
type fault struct {
	container string
	kind      faultKind
	// exitCode and, if not empty, reason are what a crash ends with; message is why a
	// readiness probe fails.
	exitCode int32
	reason   string
	message  string
	probe    probeKind
	// run, if not empty, is the container ID of the only run that it is for.
	run string
}

type faultKind int

const (
	crash faultKind = iota
	unready
	readyAgain
	// reboot ends all containers and the pod's sandbox with them.
	reboot
	// lost is that nobody can tell any more what a container's process does; spinning,
	// that it never comes to an end.
	lost
	spinning
	// traps and trapsNot are that the process has handlers for signals, or none any more.
	traps
	trapsNot
	// probed is what a container answered to a probe, message, if it failed; notProbed that
	// it could not be asked.
	probed
	probeFailed
	notProbed
)

func (s *stepper) applyFaults() {
	for _, f := range s.faults {
		if f.kind == reboot {
			s.reboot()
			continue
		}
		for i := range s.state.containers {
			c := &s.state.containers[i]
			if f.container != "" && f.container != c.name || f.run != "" && f.run != containerID(s.pod.UID, c.name, c.restarts) {
				continue
			}
			switch {
			case f.kind > reboot && c.phase == running:
				s.heed(i, f)
			case f.kind == crash && c.phase == running:
				s.end(c, f.exitCode, f.reason)
			case f.kind == unready && c.unready == "" && c.phase == running:
				c.unready = f.message
				s.report(&s.refs[i], corev1.EventTypeWarning, "Unhealthy", "Readiness probe failed: "+f.message)
			case f.kind == readyAgain:
				c.unready = ""
			}
		}
	}
}

// reboot is the pod's machine having gone down and come back. A pod that may be
// restarted gets a new sandbox, and begins with its init containers again.
func (s *stepper) reboot() {
	st := &s.state
	for i := range st.containers {
		if c := &st.containers[i]; c.phase == running {
			s.end(c, exitUnknown, "Unknown")
		}
	}
	if !st.sandbox || st.terminating || s.pod.Spec.RestartPolicy == corev1.RestartPolicyNever {
		return
	}
	s.report(nil, corev1.EventTypeNormal, "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")
	st.sandbox = false
	st.sandboxDue = later(s.now, startDelay(s.pod, s.lat))
	st.initialized = len(s.pod.Spec.InitContainers) == 0
	for i := range st.containers {
		if c := &st.containers[i]; c.kind == initContainer && c.phase == exited {
			c.changed = true
		}
	}
}

// heed takes note of what is heard of a container's process.
func (s *stepper) heed(i int, f fault) {
	c := &s.state.containers[i]
	switch f.kind {
	case traps, trapsNot:
		c.traps = f.kind == traps
	case probed, probeFailed:
		s.answer(i, f.probe, f.kind == probeFailed, f.message)
	case notProbed:
		c.probes[f.probe].asking = false
		c.probes[f.probe].due = s.now.Add(period(f.probe.of(s.refs[i].Container)))
	case lost:
		c.exitAt = after(s.now, defaultRun(s.pod, c.kind, s.lat))
		c.live, c.traps = false, false
	case spinning:
		c.live, c.traps = false, false
	}
}
