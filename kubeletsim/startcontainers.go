package kubeletsim

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// startNext starts what may start.
func (s *stepper) startNext() bool {
	st := &s.state
	if st.terminating || st.ended || !st.sandbox {
		return false
	}
	moved := false
	for i := range st.containers {
		c := &st.containers[i]
		switch {
		case c.kind == initContainer && st.initialized:
			continue
		case c.kind > sidecarContainer && !st.initialized:
			st.initialized = true
		}
		moved = s.start(i) || moved
		if st.initialized {
			continue
		}
		if c.kind == initContainer && !succeeded(c) {
			return moved
		}
		if c.kind == sidecarContainer && !s.checkStarted(i) {
			return moved
		}
	}
	return moved
}

func succeeded(c *container) bool {
	return c.phase == exited && c.termination != nil && c.termination.ExitCode == 0
}

// start runs a container if it has not run yet or is to run again.
func (s *stepper) start(i int) bool {
	c, ref := &s.state.containers[i], s.refs[i]
	switch c.phase {
	case running:
		return s.replace(c, ref)
	case exited, backingOff:
		if !restarts(s.pod, ref, c) || !s.restartDue(c, ref) {
			return false
		}
	}
	if !s.pull(c, ref) || s.configFails(c, ref) {
		return false
	}
	if c.phase != created {
		c.restarts++
		c.last, c.termination = c.termination, nil
		c.lastRun, c.adopted = loggedTimes{c.startedAt, c.endedAt()}, false
		if !c.changed {
			c.delay, c.raisedAt = s.backoff.next(s.backoff.pending(c.delay, c.raisedAt, c.finishedAt)), s.now
		}
	}
	s.report(&ref, corev1.EventTypeNormal, "Created", "Container created")
	s.report(&ref, corev1.EventTypeNormal, "Started", "Container started")
	does := behaviourOf(s.pod, ref.Container, c.kind, c.restarts, s.lat)
	c.phase, c.image, c.startedAt, c.changed = running, ref.Image, s.now, false
	c.has, c.probes, c.live, c.traps = c.granted, [probeKinds]probing{}, does.live, false
	if does.live {
		does.runs = forever
	}
	c.plan(s.pod, ref.Container, does)
	return true
}

// mountFails is whether a volume misses what it is to hold. It is reported once for
// each reason.
func (s *stepper) mountFails() bool {
	for _, n := range s.missing {
		if n.volume == "" {
			continue
		}
		if message := n.mountMessage(); s.state.mountError != message {
			s.state.mountError = message
			s.report(nil, corev1.EventTypeWarning, "FailedMount", message)
		}
		return true
	}
	s.state.mountError = ""
	return false
}

// configFails is whether a container's environment misses something. It is reported
// once for each reason.
func (s *stepper) configFails(c *container, ref containerRef) bool {
	for _, n := range s.missing {
		if n.container != c.name {
			continue
		}
		if message := n.configMessage(s.pod.Namespace); c.configError != message {
			c.configError = message
			s.report(&ref, corev1.EventTypeWarning, "Failed", "Error: "+message)
		}
		return true
	}
	c.configError = ""
	return false
}

// replace stops a container whose image is not that of the pod's spec any more.
func (s *stepper) replace(c *container, ref containerRef) bool {
	if c.image == ref.Image || c.changed || c.kind == initContainer || c.kind == ephemeralContainer {
		return false
	}
	c.changed = true
	s.report(&ref, corev1.EventTypeNormal, "Killing", "Container "+c.name+" definition changed, will be restarted")
	s.signal(c, ref, s.now.Add(s.grace()))
	return true
}

// restarts is whether a container that has ended is to be started again (KEP-5307
// for rules of single containers).
func restarts(pod *corev1.Pod, ref containerRef, c *container) bool {
	if ref.kind == ephemeralContainer {
		return false
	}
	if c.changed {
		return true
	}
	code := c.termination.ExitCode
	for _, rule := range ref.RestartPolicyRules {
		if rule.Action == corev1.ContainerRestartRuleActionRestart && ruleMatches(rule.ExitCodes, code) {
			return true
		}
	}
	policy := pod.Spec.RestartPolicy
	if ref.RestartPolicy != nil {
		policy = corev1.RestartPolicy(*ref.RestartPolicy)
	}
	if ref.kind == initContainer {
		return code != 0 && policy != corev1.RestartPolicyNever
	}
	return policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && code != 0
}

func ruleMatches(codes *corev1.ContainerRestartRuleOnExitCodes, code int32) bool {
	if codes == nil {
		return false
	}
	in := false
	for _, value := range codes.Values {
		in = in || value == code
	}
	return in == (codes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn)
}

// restartDue is whether the time for a restart has come, by the latency and the
// back-off.
func (s *stepper) restartDue(c *container, ref containerRef) bool {
	if c.changed {
		return true
	}
	delay := s.backoff.pending(c.delay, c.raisedAt, c.finishedAt)
	if delay == 0 {
		return s.due(c.finishedAt.Add(s.lat.ContainerRestart))
	}
	if s.due(c.finishedAt.Add(delay)) {
		return true
	}
	if c.phase != backingOff {
		c.phase = backingOff
		s.report(&ref, corev1.EventTypeWarning, "BackOff",
			fmt.Sprintf("Back-off restarting failed container %s in pod %s", c.name, podTitle(s.pod)))
	}
	return false
}

// podTitle is how kubelets write of a pod in messages.
func podTitle(pod *corev1.Pod) string {
	return pod.Name + "_" + pod.Namespace + "(" + string(pod.UID) + ")"
}
