package lifecycle

import (
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
)

// Adopt derives the state of a pod from the status in the API, which an earlier process wrote.
// Containers that were running go on running; the duration of their run counts from their
// start. The status of a pod that has ended stays as it is.
func Adopt(pod *corev1.Pod, seen *Observation, lat *Latencies, back *Backoff) State {
	var s State
	status := &pod.Status
	if status.StartTime == nil {
		return s
	}
	s.Admitted = status.StartTime.Time
	s.sandboxDue = later(s.Admitted, startDelay(pod, lat))
	if status.PodIP != "" {
		s.Sandbox = true
		if !pod.Spec.HostNetwork {
			// An unparsable address was not assigned by the simulation.
			s.Address, _ = netip.ParseAddr(status.PodIP)
			if len(status.PodIPs) > 1 {
				s.SecondAddress, _ = netip.ParseAddr(status.PodIPs[1].IP)
			}
		}
	}
	s.Ended = Finished(pod)
	s.sealed = s.Ended
	for _, ref := range podspec.Containers(pod) {
		c := Container{Name: ref.Name, Kind: ref.Kind, image: ref.Image, granted: ref.Resources, has: ref.Resources}
		if old := statusOf(pod, ref); old != nil {
			adoptContainer(&c, old, back)
			c.adoptResources(old)
			if c.Phase == Running {
				// The progress of the earlier process's command is lost, so the run is planned
				// again from its start.
				c.plan(pod, ref.Container, behaviourOf(pod, ref.Container, ref.Kind, c.Restarts, lat, seen.of(c.Name)))
			}
		}
		if c.Kind == podspec.AppContainer && c.Phase != Created {
			s.initialized = true
		}
		s.Containers = append(s.Containers, c)
	}
	s.Resize = adoptResize(pod)
	return s
}

func adoptContainer(c *Container, status *corev1.ContainerStatus, back *Backoff) {
	c.Restarts, c.adopted = status.RestartCount, true
	c.last = status.LastTerminationState.Terminated
	if c.last != nil {
		c.lastRun = RunTimes{c.last.StartedAt.Time, c.last.FinishedAt.Add(time.Second - 1)}
	}
	switch {
	case status.State.Running != nil:
		c.Phase = Running
		c.startedAt = status.State.Running.StartedAt.Time
		c.started = status.Started != nil && *status.Started
		c.ready = status.Ready
		c.probes[startupProbe].succeeded, c.probes[readinessProbe].succeeded = c.started, c.ready
	case status.State.Terminated != nil:
		c.Phase = exited
		c.termination = status.State.Terminated
	case status.State.Waiting != nil && c.last != nil && c.last.Reason == reasonRestartingAll:
		return // it was removed
	case status.State.Waiting != nil && c.last != nil:
		c.Phase = backingOff
		c.termination, c.last = c.last, nil
	default:
		return
	}
	if c.termination != nil {
		c.startedAt, c.finishedAt = c.termination.StartedAt.Time, c.termination.FinishedAt.Time
	}
	if c.Restarts > 0 {
		c.delay = back.after(c.Restarts)
		c.raisedAt = c.startedAt
	}
}

// statusOf returns the container's status in the API; nil if there is none.
func statusOf(pod *corev1.Pod, ref podspec.Container) *corev1.ContainerStatus {
	list := pod.Status.ContainerStatuses
	switch ref.Kind {
	case podspec.InitContainer, podspec.SidecarContainer:
		list = pod.Status.InitContainerStatuses
	case podspec.EphemeralContainer:
		list = pod.Status.EphemeralContainerStatuses
	}
	for i := range list {
		if list[i].Name == ref.Name {
			return &list[i]
		}
	}
	return nil
}

// Finished reports whether the API shows the pod as Succeeded or Failed.
func Finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
