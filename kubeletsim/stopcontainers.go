package kubeletsim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// checkDeadline ends a pod that has been active for longer than it may.
func (s *stepper) checkDeadline() {
	limit := s.pod.Spec.ActiveDeadlineSeconds
	if limit == nil || s.state.terminating {
		return
	}
	if s.due(s.state.admitted.Add(time.Duration(*limit) * time.Second)) {
		s.state.reason = "DeadlineExceeded"
		s.state.message = "Pod was active on the node longer than the specified deadline"
		s.report(nil, corev1.EventTypeNormal, s.state.reason, s.state.message)
		s.terminate(s.now.Add(s.grace()))
	}
}

func (s *stepper) grace() time.Duration {
	if p := s.pod.Spec.TerminationGracePeriodSeconds; p != nil {
		return time.Duration(*p) * time.Second
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

// deletionEnd is when a pod that is being deleted has to have ended. The grace period
// begins when its kubelet hears of it: the deletion timestamp has whole seconds only.
func (s *stepper) deletionEnd() time.Time {
	if grace := s.pod.DeletionGracePeriodSeconds; grace != nil {
		return s.now.Add(time.Duration(*grace) * time.Second)
	}
	return s.pod.DeletionTimestamp.Time
}

// terminate begins to stop all containers. Called again, it can only shorten the
// time that they are given.
func (s *stepper) terminate(killAt time.Time) {
	st := &s.state
	if st.terminating && !killAt.Before(st.killAt) {
		return
	}
	st.terminating, st.killAt = true, killAt
	for i := range st.containers {
		if c := &st.containers[i]; !c.stopAt.IsZero() && c.stopAt.After(killAt) {
			c.stopAt, c.stopCode = latest(killAt, s.now), exitKilled
		}
	}
}

const (
	// exitTerminated is the exit code of a process that SIGTERM ended, which it does not
	// handle, as shells and sleep do not.
	exitTerminated = 128 + 15
	// exitKilled is the exit code of a process that SIGKILL ended.
	exitKilled = 128 + 9
	// exitUnknown is what a runtime says of a container that it lost.
	exitUnknown = 255
)

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// endRuns ends the runs whose time has come.
func (s *stepper) endRuns() bool {
	moved := false
	for i := range s.state.containers {
		c := &s.state.containers[i]
		if c.phase != running {
			continue
		}
		if at, code := c.endsAt(); !at.IsZero() && s.due(at) {
			reason := ""
			if at.Equal(c.exitAt) {
				reason = c.exitReason
			}
			s.end(c, code, reason)
			moved = true
		}
	}
	return moved
}

func (s *stepper) end(c *container, code int32, reason string) {
	c.phase = exited
	c.finishedAt, c.adopted = s.now, false
	c.exitAt, c.stopAt = time.Time{}, time.Time{}
	c.started, c.ready, c.unready = false, false, ""
	c.termination = terminationOf(s.pod.UID, c, code, reason)
}

// stopNext signals the containers whose turn it is when the pod is being
// terminated: first all but the sidecars, then these one after the other, the last
// started first.
func (s *stepper) stopNext() bool {
	st := &s.state
	if !st.terminating {
		return false
	}
	moved, busy := false, false
	for i := range st.containers {
		if c := &st.containers[i]; c.phase == running && c.kind != sidecarContainer {
			busy = true
			moved = s.stop(i) || moved
		}
	}
	if busy {
		return moved
	}
	for i := len(st.containers) - 1; i >= 0; i-- {
		if st.containers[i].phase == running {
			return s.stop(i)
		}
	}
	st.ended = true
	return false
}

func (s *stepper) stop(i int) bool {
	c, ref := &s.state.containers[i], s.refs[i]
	if !c.stopAt.IsZero() {
		return false
	}
	s.report(&ref, corev1.EventTypeNormal, "Killing", "Stopping container "+c.name)
	s.signal(c, ref, s.state.killAt)
	return true
}

// signal tells a container to end, at the latest at killAt.
func (s *stepper) signal(c *container, ref containerRef, killAt time.Time) {
	if c.traps {
		s.signals = append(s.signals, c.name)
		c.stopAt, c.stopCode = latest(killAt, s.now), exitKilled
		return
	}
	does := behaviourOf(s.pod, ref.Container, c.kind, c.restarts, s.lat)
	if at := after(s.now, does.stops); does.stops == 0 || !at.IsZero() && !at.After(killAt) {
		c.stopAt, c.stopCode = at, does.stopCode
	} else {
		c.stopAt, c.stopCode = latest(killAt, s.now), exitKilled
	}
}

// finish ends the pod when none of the containers that it is for runs or will run
// again: sidecars are then stopped.
func (s *stepper) finish() bool {
	st := &s.state
	if st.terminating || st.ended || !st.sandbox {
		return false
	}
	for i := range st.containers {
		c, ref := &st.containers[i], s.refs[i]
		switch {
		case c.kind == initContainer && !st.initialized && c.phase == exited && !restarts(s.pod, ref, c) && !succeeded(c):
			s.terminate(s.now.Add(s.grace()))
			return true
		case c.kind == appContainer && (c.phase == created || c.phase == running || restarts(s.pod, ref, c)):
			return false
		}
	}
	s.terminate(s.now.Add(s.grace()))
	return true
}
