package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/internal/span"
)

// checkDeadline terminates a pod that has exceeded its activeDeadlineSeconds.
func (s *stepper) checkDeadline() {
	limit := s.Pod.Spec.ActiveDeadlineSeconds
	if limit == nil || s.State.terminating {
		return
	}
	if s.due(s.State.Admitted.Add(time.Duration(*limit) * time.Second)) {
		s.State.reason = "DeadlineExceeded"
		s.State.message = "Pod was active on the node longer than the specified deadline"
		s.report(nil, corev1.EventTypeNormal, s.State.reason, s.State.message)
		s.terminate(s.Now.Add(s.grace()))
	}
}

func (s *stepper) grace() time.Duration {
	if p := s.Pod.Spec.TerminationGracePeriodSeconds; p != nil {
		return time.Duration(*p) * time.Second
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

// deletionEnd is the time by which a pod under deletion must have ended. The grace period
// starts when its kubelet sees the deletion, because the deletion timestamp has whole seconds
// only.
func (s *stepper) deletionEnd() time.Time {
	if grace := s.Pod.DeletionGracePeriodSeconds; grace != nil {
		return s.Now.Add(time.Duration(*grace) * time.Second)
	}
	return s.Pod.DeletionTimestamp.Time
}

// terminate starts to stop all containers. A repeated call can only shorten the grace period.
func (s *stepper) terminate(killAt time.Time) {
	st := &s.State
	if st.terminating && !killAt.Before(st.killAt) {
		return
	}
	st.terminating, st.killAt = true, killAt
	for i := range st.Containers {
		if c := &st.Containers[i]; !c.StopAt.IsZero() && c.StopAt.After(killAt) {
			c.StopAt, c.stopCode = latest(killAt, s.Now), ExitKilled
		}
	}
}

const (
	// exitTerminated is the exit code of a process without a handler for SIGTERM, such as
	// shells and sleep.
	exitTerminated = 128 + 15
	// ExitKilled is the exit code of a process that SIGKILL ended.
	ExitKilled = 128 + 9
	// exitUnknown is the exit code that a runtime reports for a container that it lost.
	exitUnknown = 255
)

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// endRuns ends the runs that are due to end.
func (s *stepper) endRuns() bool {
	moved := false
	for i := range s.State.Containers {
		c := &s.State.Containers[i]
		if c.Phase != Running {
			continue
		}
		if at, code := c.endsAt(); !at.IsZero() && s.due(at) {
			reason, message := "", ""
			if at.Equal(c.exitAt) {
				reason, message = c.exitReason, c.exitMessage
			}
			s.end(c, code, reason)
			c.termination.Message = message
			moved = true
		}
		if !c.signalAt.IsZero() && s.due(c.signalAt) {
			c.signalAt = time.Time{}
		}
	}
	return moved
}

func (s *stepper) end(c *Container, code int32, reason string) {
	c.Phase = exited
	c.finishedAt, c.adopted = s.Now, false
	c.exitAt, c.StopAt, c.signalAt = time.Time{}, time.Time{}, time.Time{}
	c.started, c.ready, c.unready = false, false, ""
	c.termination = terminationOf(podspec.RuntimeUID(s.Pod), c, code, reason)
}

// stopNext signals the next containers of a terminating pod: first all but the sidecars, then
// the sidecars one after the other in reverse order of their start.
func (s *stepper) stopNext() bool {
	st := &s.State
	if !st.terminating {
		return false
	}
	moved, busy := false, false
	for i := range st.Containers {
		if c := &st.Containers[i]; c.Phase == Running && c.Kind != podspec.SidecarContainer {
			busy = true
			moved = s.stop(i) || moved
		}
	}
	if busy {
		return moved
	}
	for i := len(st.Containers) - 1; i >= 0; i-- {
		if st.Containers[i].Phase == Running {
			return s.stop(i)
		}
	}
	st.Ended = true
	return false
}

func (s *stepper) stop(i int) bool {
	c, ref := &s.State.Containers[i], s.refs[i]
	if !c.StopAt.IsZero() {
		return false
	}
	s.report(&ref, corev1.EventTypeNormal, "Killing", "Stopping container "+c.Name)
	s.signal(c, ref, s.State.killAt)
	return true
}

// signal runs a container's preStop hook, and sends it the termination signal. It is killed at killAt at the latest.
func (s *stepper) signal(c *Container, ref podspec.Container, killAt time.Time) {
	if killAt.After(s.Now) && ref.Lifecycle != nil && s.runHook(c, ref, PreStop, killAt.Sub(s.Now)) {
		c.hooked, c.StopAt, c.stopCode = true, killAt, ExitKilled
		return
	}
	s.send(c, ref, killAt)
}

// send sends a container the termination signal.
func (s *stepper) send(c *Container, ref podspec.Container, killAt time.Time) {
	if c.traps {
		s.signals = append(s.signals, c.Name)
		c.StopAt, c.stopCode = latest(killAt, s.Now), ExitKilled
		return
	}
	seen := s.Observed.of(c.Name)
	if hook := preStop(ref.Container, seen.Course != 0); hook > 0 {
		c.signalAt = later(s.Now, hook)
	}
	does := behaviourOf(s.Pod, ref.Container, c.Kind, c.Restarts, s.Latencies, seen)
	if at := span.After(s.Now, does.stops); does.stops == 0 || !at.IsZero() && !at.After(killAt) {
		c.StopAt, c.stopCode = at, does.stopCode
	} else {
		c.StopAt, c.stopCode = latest(killAt, s.Now), ExitKilled
	}
}

// finish terminates a pod whose app containers have ended for good, so that its sidecars are
// stopped.
func (s *stepper) finish() bool {
	st := &s.State
	if st.terminating || st.Ended || !st.Sandbox {
		return false
	}
	if _, restarts := restartsAll(s.refs, st); restarts {
		return false
	}
	for i := range st.Containers {
		c, ref := &st.Containers[i], s.refs[i]
		switch {
		case c.Kind == podspec.InitContainer && !st.initialized && c.Phase == exited && !restarts(s.Pod, ref, c) && !Succeeded(c):
			s.terminate(s.Now.Add(s.grace()))
			return true
		case c.Kind == podspec.AppContainer && (c.Phase == Created || c.Phase == Running || restarts(s.Pod, ref, c)):
			return false
		}
	}
	s.terminate(s.Now.Add(s.grace()))
	return true
}
