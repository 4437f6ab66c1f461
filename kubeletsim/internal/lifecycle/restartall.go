package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
)

// A container whose exit code matches a rule with the action RestartAllContainers restarts its pod
// in place (KEP-5532): the pod keeps its sandbox, address and volumes.
//
//	exit             AllContainersRestarting becomes true. The other containers are killed, one
//	                 after the other: app containers, then init containers and sidecars.
//	relistPeriod     All containers are removed, and the condition becomes false: they wait with
//	                 the reason RestartingAllContainers.
//	2 relistPeriod   The pod starts as a new one does, without back-off.
//
// Upstream's kubelet does each step when it learns of the one before, which takes up to the period
// at which it lists containers. The simulation takes the whole period: without it, a container
// that exits at once would restart its pod forever at one moment.
const (
	relistPeriod = time.Second
	// restartGrace is the grace period of containers that are killed for the restart. They do not
	// run their preStop hooks.
	restartGrace = 2 * time.Second

	reasonRestartingAll  = "RestartingAllContainers"
	messageRestartingAll = "The container is removed because RestartAllContainers in place"
)

// restartAll takes the next step of a restart of all containers.
func (s *stepper) restartAll() bool {
	st := &s.State
	if st.terminating || st.Ended {
		return false
	}
	since, restarts := restartsAll(s.refs, st)
	if !restarts {
		return false
	}
	if next := st.nextToKill(); next >= 0 {
		return s.killForRestart(next)
	}
	if !s.due(since.Add(relistPeriod)) {
		return false
	}
	s.removeAll()
	return true
}

// restartsAll reports whether a container has ended whose exit code restarts all containers of the
// pod, and since when.
func restartsAll(refs []podspec.Container, st *State) (since time.Time, restarts bool) {
	for i := range st.Containers {
		c := &st.Containers[i]
		if c.Phase != exited || actionOn(refs[i], c.termination.ExitCode) != corev1.ContainerRestartRuleActionRestartAllContainers {
			continue
		}
		if !restarts || c.finishedAt.Before(since) {
			since, restarts = c.finishedAt, true
		}
	}
	return since, restarts
}

// couldRestartAll reports whether any container of the pod has a rule with the action
// RestartAllContainers.
func couldRestartAll(pod *corev1.Pod) bool {
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			for _, rule := range list[i].RestartPolicyRules {
				if rule.Action == corev1.ContainerRestartRuleActionRestartAllContainers {
					return true
				}
			}
		}
	}
	return false
}

// nextToKill returns the index of the next container to be killed for a restart of all; -1 if none
// runs. Ephemeral containers go on.
func (s *State) nextToKill() int {
	next := -1
	for i := range s.Containers {
		switch c := &s.Containers[i]; {
		case c.Phase != Running || c.Kind == podspec.EphemeralContainer:
		case c.Kind == podspec.AppContainer:
			return i
		case next < 0:
			next = i
		}
	}
	return next
}

func (s *stepper) killForRestart(i int) bool {
	c, ref := &s.State.Containers[i], s.refs[i]
	if !c.StopAt.IsZero() {
		return false
	}
	s.report(&ref, corev1.EventTypeNormal, "Killing", "killing")
	hookless := *ref.Container
	hookless.Lifecycle = nil
	s.signal(c, podspec.Container{Container: &hookless, Kind: ref.Kind}, s.Now.Add(restartGrace))
	return true
}

// removeAll removes all containers that have run, so that the pod starts over. Their restart counts
// and back-off remain; the end of their last run is lost, as upstream's kubelet loses it.
func (s *stepper) removeAll() {
	st := &s.State
	st.startOverAt = s.Now.Add(max(s.Latencies.ContainerRestart, relistPeriod))
	st.initialized = len(s.Pod.Spec.InitContainers) == 0
	for i := range st.Containers {
		c := &st.Containers[i]
		if c.Phase == Created || c.Kind == podspec.EphemeralContainer {
			continue
		}
		c.last = &corev1.ContainerStateTerminated{Reason: reasonRestartingAll, Message: messageRestartingAll, ExitCode: ExitKilled}
		if c.Phase == backingOff {
			c.last = c.termination
		}
		c.lastRun = RunTimes{c.startedAt, c.endedAt()}
		c.Phase, c.termination, c.changed, c.adopted = Created, nil, false, false
		c.startedAt, c.finishedAt = time.Time{}, time.Time{}
		c.Restarts++
	}
}

// startsOver reports whether a restart of all containers still holds back their starts.
func (s *stepper) startsOver() bool {
	st := &s.State
	if _, restarts := restartsAll(s.refs, st); restarts || !s.due(st.startOverAt) {
		return true
	}
	st.startOverAt = time.Time{}
	return false
}

// restartingCondition is the condition AllContainersRestarting, which upstream's kubelet writes
// without a generation.
func restartingCondition(pod *corev1.Pod, s *State, phase corev1.PodPhase) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.AllContainersRestarting, Status: corev1.ConditionFalse}
	switch phase {
	case corev1.PodSucceeded:
		c.Reason = "PodCompleted"
	case corev1.PodFailed:
		c.Reason = "PodFailed"
	default:
		if _, restarts := restartsAll(podspec.Containers(pod), s); restarts {
			c.Status, c.Reason = corev1.ConditionTrue, "RestartAllContainersStarted"
			c.Message = "container exited with restart policy rule"
		}
	}
	return c
}
