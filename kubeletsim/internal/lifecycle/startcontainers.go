package lifecycle

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/internal/span"
)

// startNext starts the containers that may start now, in upstream's order.
func (s *stepper) startNext() bool {
	st := &s.State
	if st.terminating || st.Ended || !st.Sandbox || s.startsOver() {
		return false
	}
	moved := false
	for i := range st.Containers {
		c := &st.Containers[i]
		switch {
		case c.Kind == podspec.InitContainer && st.initialized:
			continue
		case c.Kind > podspec.SidecarContainer && !st.initialized:
			st.initialized = true
		}
		moved = s.start(i) || moved
		if !c.pullSince.IsZero() {
			// The kubelet creates a pod's containers one after the other.
			return moved
		}
		if st.initialized {
			continue
		}
		if c.Kind == podspec.InitContainer && !Succeeded(c) {
			return moved
		}
		if c.Kind == podspec.SidecarContainer && !s.checkStarted(i) {
			return moved
		}
	}
	return moved
}

func Succeeded(c *Container) bool {
	return c.Phase == exited && c.termination != nil && c.termination.ExitCode == 0
}

// start starts a container that has not run yet or is due for a restart.
func (s *stepper) start(i int) bool {
	c, ref := &s.State.Containers[i], s.refs[i]
	switch c.Phase {
	case Running:
		return s.replace(c, ref)
	case exited, backingOff:
		if !restarts(s.Pod, ref, c) || !s.restartDue(c, ref) {
			return false
		}
	}
	if s.waitsAsObserved(c, ref) || s.misnamed(c, ref) || !s.pull(c, ref) || s.configFails(c, ref) {
		return false
	}
	if c.Phase != Created {
		c.Restarts++
		c.last, c.termination = c.termination, nil
		c.lastRun, c.adopted = RunTimes{c.startedAt, c.endedAt()}, false
		if !c.changed {
			c.delay, c.raisedAt = s.Backoff.next(s.Backoff.pending(c.delay, c.raisedAt, c.finishedAt)), s.Now
		}
	}
	s.report(&ref, corev1.EventTypeNormal, "Created", "Container created")
	s.report(&ref, corev1.EventTypeNormal, "Started", "Container started")
	does := behaviourOf(s.Pod, ref.Container, c.Kind, c.Restarts, s.Latencies, s.Observed.of(c.Name))
	c.Phase, c.image, c.startedAt, c.changed = Running, ref.Image, s.Now, false
	c.has, c.probes, c.Live, c.traps = c.granted, [probeKinds]probeState{}, does.live, false
	c.hooked = false
	if does.live {
		does.runs = span.Forever
	}
	c.plan(s.Pod, ref.Container, does)
	s.runHook(c, ref, PostStart, 0)
	return true
}

// waitsAsObserved reports whether a container is not started, as was observed. It emits one event.
func (s *stepper) waitsAsObserved(c *Container, ref podspec.Container) bool {
	seen := s.Observed.of(c.Name)
	if seen.Course != NotCreated && (seen.Course != NotPulled || seen.Image != ref.Image) {
		c.waits = nil
		return false
	}
	if c.waits == nil {
		c.waits = &corev1.ContainerStateWaiting{Reason: seen.Reason, Message: seen.Message}
		if seen.Message != "" {
			s.report(&ref, corev1.EventTypeWarning, "Failed", "Error: "+seen.Message)
		}
	}
	return true
}

// mountFails reports whether the source of a volume or a resource claim is missing. It emits one
// event for each distinct message.
func (s *stepper) mountFails() bool {
	for _, n := range s.Missing {
		if n.volume == "" {
			continue
		}
		if n.unattached {
			s.awaitAttachment(n)
			return true
		}
		if message := n.mountMessage(s.Pod.Namespace); s.State.mountError != message {
			s.State.mountError = message
			s.report(nil, corev1.EventTypeWarning, "FailedMount", message)
		}
		return true
	}
	s.State.attachDue = time.Time{}
	for _, n := range s.Missing {
		if !n.unprepared {
			continue
		}
		if message := "Failed to prepare dynamic resources: prepare dynamic resources: " + n.why; s.State.mountError != message {
			s.State.mountError = message
			s.report(nil, corev1.EventTypeWarning, "FailedPrepareDynamicResources", message)
		}
		return true
	}
	s.State.mountError = ""
	return false
}

// attachPatience is the time that upstream's kubelet waits for volumes to be attached before it
// reports that they are not; attachRetry is the delay before it waits again.
const (
	attachPatience = 2*time.Minute + 3*time.Second
	attachRetry    = 10 * time.Second
)

// awaitAttachment reports each attempt to wait until volumes are attached that ends without.
func (s *stepper) awaitAttachment(n Need) {
	st := &s.State
	if st.attachDue.IsZero() {
		st.attachDue = s.Now.Add(attachPatience)
	}
	if s.due(st.attachDue) {
		s.report(nil, corev1.EventTypeWarning, "FailedMount", n.mountMessage(s.Pod.Namespace))
		st.attachDue = s.Now.Add(attachRetry + attachPatience)
		s.due(st.attachDue)
	}
}

// configFails reports whether the source of a container's environment is missing, a mount's path leaves its volume, or it must not
// be root and is. It emits one event for each distinct message.
func (s *stepper) configFails(c *Container, ref podspec.Container) bool {
	message := s.configProblem(c, ref)
	if message != "" && c.configError != message {
		s.report(&ref, corev1.EventTypeWarning, "Failed", "Error: "+message)
	}
	c.configError = message
	return message != ""
}

func (s *stepper) configProblem(c *Container, ref podspec.Container) string {
	for _, n := range s.Missing {
		if n.container == c.Name {
			return n.configMessage(s.Pod.Namespace)
		}
	}
	return cmp.Or(podspec.SubPathProblem(s.Pod, ref.Container), podspec.NonRootProblem(s.Pod, ref.Container))
}

// replace stops a container whose image differs from the pod's spec.
func (s *stepper) replace(c *Container, ref podspec.Container) bool {
	if c.image == ref.Image || c.changed || c.Kind == podspec.InitContainer || c.Kind == podspec.EphemeralContainer {
		return false
	}
	c.changed = true
	s.report(&ref, corev1.EventTypeNormal, "Killing", "Container "+c.Name+" definition changed, will be restarted")
	s.signal(c, ref, s.Now.Add(s.grace()))
	return true
}

// restarts reports whether a container that has ended is to be restarted, alone (KEP-5307) or with
// all others (KEP-5532).
func restarts(pod *corev1.Pod, ref podspec.Container, c *Container) bool {
	if ref.Kind == podspec.EphemeralContainer {
		return false
	}
	if c.changed {
		return true
	}
	code := c.termination.ExitCode
	switch actionOn(ref, code) {
	case corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers:
		return true
	}
	policy := pod.Spec.RestartPolicy
	if ref.RestartPolicy != nil {
		policy = corev1.RestartPolicy(*ref.RestartPolicy)
	}
	if ref.Kind == podspec.InitContainer {
		return code != 0 && policy != corev1.RestartPolicyNever
	}
	return policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && code != 0
}

// actionOn returns the action of the first rule of a container that matches an exit code; empty if
// none does.
func actionOn(ref podspec.Container, code int32) corev1.ContainerRestartRuleAction {
	for _, rule := range ref.RestartPolicyRules {
		if ruleMatches(rule.ExitCodes, code) {
			return rule.Action
		}
	}
	return ""
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

// restartDue reports whether a restart is due, by ContainerRestart and the back-off.
func (s *stepper) restartDue(c *Container, ref podspec.Container) bool {
	if c.changed {
		return true
	}
	delay := s.Backoff.pending(c.delay, c.raisedAt, c.finishedAt)
	if delay == 0 {
		return s.due(c.finishedAt.Add(s.Latencies.ContainerRestart))
	}
	if s.due(c.finishedAt.Add(delay)) {
		return true
	}
	if c.Phase != backingOff {
		c.Phase = backingOff
		s.report(&ref, corev1.EventTypeWarning, "BackOff",
			fmt.Sprintf("Back-off restarting failed container %s in pod %s", c.Name, podTitle(s.Pod)))
	}
	return false
}

// podTitle identifies a pod as upstream's kubelet does in messages.
func podTitle(pod *corev1.Pod) string {
	return pod.Name + "_" + pod.Namespace + "(" + string(pod.UID) + ")"
}
