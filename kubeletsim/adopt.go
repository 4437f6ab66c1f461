package kubeletsim

import (
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// adopt takes up a pod that an earlier run of the process, whose state is lost, has
// brought to the status that the API shows. Running containers run on; how long,
// counts from their start.
func adopt(pod *corev1.Pod, lat *Latencies, back *Backoff) podState {
	var s podState
	status := &pod.Status
	if status.StartTime == nil {
		return s
	}
	s.admitted = status.StartTime.Time
	s.sandboxDue = later(s.admitted, startDelay(pod, lat))
	if status.PodIP != "" {
		s.sandbox = true
		if !pod.Spec.HostNetwork {
			// An address that cannot be read is one that we did not give.
			s.address, _ = netip.ParseAddr(status.PodIP)
		}
	}
	s.ended = finished(pod)
	if s.ended {
		s.reason, s.message = status.Reason, status.Message
	}
	for _, ref := range containersOf(pod) {
		c := container{name: ref.Name, kind: ref.kind, image: ref.Image, granted: ref.Resources, has: ref.Resources}
		if old := statusOf(pod, ref); old != nil {
			adoptContainer(&c, old, back)
			c.adoptResources(old)
			if c.phase == running {
				// What a process had come to is not known any more.
				c.plan(pod, ref.Container, behaviourOf(pod, ref.Container, ref.kind, c.restarts, lat))
			}
		}
		if c.kind == appContainer && c.phase != created {
			s.initialized = true
		}
		s.containers = append(s.containers, c)
	}
	s.resize = adoptResize(pod)
	return s
}

func adoptContainer(c *container, status *corev1.ContainerStatus, back *Backoff) {
	c.restarts, c.adopted = status.RestartCount, true
	c.last = status.LastTerminationState.Terminated
	if c.last != nil {
		c.lastRun = loggedTimes{c.last.StartedAt.Time, c.last.FinishedAt.Add(time.Second - 1)}
	}
	switch {
	case status.State.Running != nil:
		c.phase = running
		c.startedAt = status.State.Running.StartedAt.Time
		c.started = status.Started != nil && *status.Started
		c.ready = status.Ready
		c.probes[startupProbe].up, c.probes[readinessProbe].up = c.started, c.ready
	case status.State.Terminated != nil:
		c.phase = exited
		c.termination = status.State.Terminated
	case status.State.Waiting != nil && c.last != nil:
		c.phase = backingOff
		c.termination, c.last = c.last, nil
	default:
		return
	}
	if c.termination != nil {
		c.startedAt, c.finishedAt = c.termination.StartedAt.Time, c.termination.FinishedAt.Time
	}
	if c.restarts > 0 {
		c.delay = back.after(c.restarts)
		c.raisedAt = c.startedAt
	}
}

// statusOf finds what the API says of a container; nil if nothing.
func statusOf(pod *corev1.Pod, ref containerRef) *corev1.ContainerStatus {
	list := pod.Status.ContainerStatuses
	switch ref.kind {
	case initContainer, sidecarContainer:
		list = pod.Status.InitContainerStatuses
	case ephemeralContainer:
		list = pod.Status.EphemeralContainerStatuses
	}
	for i := range list {
		if list[i].Name == ref.Name {
			return &list[i]
		}
	}
	return nil
}

// finished is whether the API says that the pod has come to its end.
func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// after is d later than t; the zero time when that is never.
func after(t time.Time, d time.Duration) time.Time {
	if d == forever {
		return time.Time{}
	}
	return t.Add(d)
}
