package kubeletsim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// podStatus is what the kubelet on the node with the given address writes about a
// pod. What others keep in the status stays as the pod has it.
func podStatus(pod *corev1.Pod, s *podState, hostIP string, now time.Time) corev1.PodStatus {
	if s.rejected {
		return rejectedStatus(pod, s)
	}
	status := pod.Status
	status.ObservedGeneration = pod.Generation
	status.Phase = phaseOf(pod, s)
	status.Reason, status.Message = s.reason, s.message
	if s.ended && s.reason == "" {
		// Somebody else ended it, and said why.
		status.Reason, status.Message = pod.Status.Reason, pod.Status.Message
	}
	if !s.admitted.IsZero() {
		start := seconds(s.admitted)
		status.StartTime = &start
	}
	status.HostIP = hostIP
	status.HostIPs = []corev1.HostIP{{IP: hostIP}}
	setPodIP(pod, s, &status)
	setContainerStatuses(pod, s, &status)
	status.Conditions = podConditions(pod, s, &status, now)
	return status
}

// rejectedStatus says little: nothing was done about the pod.
func rejectedStatus(pod *corev1.Pod, s *podState) corev1.PodStatus {
	status := pod.Status
	start := seconds(s.admitted)
	status.ObservedGeneration = pod.Generation
	status.Phase = corev1.PodFailed
	status.Reason, status.Message = s.reason, s.message
	status.StartTime = &start
	return status
}

func setPodIP(pod *corev1.Pod, s *podState, status *corev1.PodStatus) {
	ip := ""
	switch {
	case !s.sandbox:
	case pod.Spec.HostNetwork:
		ip = status.HostIP
	case s.address.IsValid():
		ip = s.address.String()
	}
	if ip == "" {
		return
	}
	status.PodIP = ip
	status.PodIPs = []corev1.PodIP{{IP: ip}}
}

// phaseOf follows the pod lifecycle of the Kubernetes docs: Pending until every
// container has run once, and the end only when nothing will run again.
func phaseOf(pod *corev1.Pod, s *podState) corev1.PodPhase {
	if finished(pod) {
		return pod.Status.Phase
	}
	if s.ended {
		return finalPhase(s)
	}
	for i := range s.containers {
		if c := &s.containers[i]; c.kind == appContainer && c.phase == created {
			return corev1.PodPending
		}
	}
	if len(s.containers) == 0 {
		return corev1.PodPending
	}
	return corev1.PodRunning
}

func finalPhase(s *podState) corev1.PodPhase {
	if s.reason != "" || !s.initialized {
		return corev1.PodFailed
	}
	for i := range s.containers {
		if c := &s.containers[i]; c.kind == appContainer && (c.termination == nil || c.termination.ExitCode != 0) {
			return corev1.PodFailed
		}
	}
	return corev1.PodSucceeded
}

func setContainerStatuses(pod *corev1.Pod, s *podState, status *corev1.PodStatus) {
	status.InitContainerStatuses = nil
	status.EphemeralContainerStatuses = nil
	if len(pod.Spec.InitContainers) > 0 {
		status.InitContainerStatuses = make([]corev1.ContainerStatus, 0, len(pod.Spec.InitContainers))
	}
	status.ContainerStatuses = make([]corev1.ContainerStatus, 0, len(pod.Spec.Containers))
	waiting := "ContainerCreating"
	if len(pod.Spec.InitContainers) > 0 {
		waiting = "PodInitializing"
	}
	for i, ref := range containersOf(pod) {
		c := &container{name: ref.Name, kind: ref.kind, image: ref.Image}
		if i < len(s.containers) {
			c = &s.containers[i]
		}
		cs := containerStatus(pod, ref, c, waiting)
		switch ref.kind {
		case initContainer, sidecarContainer:
			status.InitContainerStatuses = append(status.InitContainerStatuses, cs)
		case ephemeralContainer:
			status.EphemeralContainerStatuses = append(status.EphemeralContainerStatuses, cs)
		default:
			status.ContainerStatuses = append(status.ContainerStatuses, cs)
		}
	}
	// Upstream's kubelet sorts these, and these only.
	slices.SortFunc(status.ContainerStatuses, func(a, b corev1.ContainerStatus) int { return strings.Compare(a.Name, b.Name) })
}

func containerStatus(pod *corev1.Pod, ref containerRef, c *container, waiting string) corev1.ContainerStatus {
	cs := corev1.ContainerStatus{Name: c.name, Image: ref.Image, RestartCount: c.restarts}
	started := c.phase == running && c.started
	switch c.kind {
	case initContainer:
		// It is ready when it has done its work.
		cs.Started, cs.Ready = &started, succeeded(c)
	case ephemeralContainer:
		// Nobody asks whether it is ready.
	default:
		cs.Started, cs.Ready = &started, c.ready
	}
	if c.phase != created {
		cs.Image = imageName(c.image)
		cs.ImageID = imageID(c.image)
		cs.ContainerID = containerID(pod.UID, c.name, c.restarts)
		setResources(c, &cs)
		cs.VolumeMounts = mountStatuses(ref.VolumeMounts)
	}
	if c.last != nil {
		cs.LastTerminationState.Terminated = c.last
	}
	if waiting := startError(ref, c); waiting != nil {
		cs.State.Waiting = waiting
		if c.termination != nil {
			cs.LastTerminationState.Terminated = c.termination
		}
		return cs
	}
	switch c.phase {
	case created:
		cs.State.Waiting = &corev1.ContainerStateWaiting{Reason: waiting}
	case running:
		cs.State.Running = &corev1.ContainerStateRunning{StartedAt: seconds(c.startedAt)}
	case exited:
		cs.State.Terminated = c.termination
	case backingOff:
		cs.LastTerminationState.Terminated = c.termination
		cs.State.Waiting = &corev1.ContainerStateWaiting{
			Reason:  "CrashLoopBackOff",
			Message: "back-off " + c.delay.String() + " restarting failed container=" + c.name + " pod=" + podTitle(pod),
		}
	}
	return cs
}

// startError is why a container that is to run does not; nil when nothing is wrong.
func startError(ref containerRef, c *container) *corev1.ContainerStateWaiting {
	switch {
	case c.phase == running:
	case c.pullError != "":
		return &corev1.ContainerStateWaiting{
			Reason:  "ImagePullBackOff",
			Message: fmt.Sprintf("Back-off pulling image %q: ErrImagePull: %s", ref.Image, c.pullError),
		}
	case c.configError != "":
		return &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: c.configError}
	}
	return nil
}

// setResources reports what the node has reserved, and what the container has.
func setResources(c *container, cs *corev1.ContainerStatus) {
	if c.kind == ephemeralContainer {
		return
	}
	cs.AllocatedResources = c.granted.Requests
	cs.Resources = &corev1.ResourceRequirements{Limits: c.has.Limits, Requests: c.has.Requests}
}

func mountStatuses(mounts []corev1.VolumeMount) []corev1.VolumeMountStatus {
	if len(mounts) == 0 {
		return nil
	}
	statuses := make([]corev1.VolumeMountStatus, 0, len(mounts))
	for _, mount := range mounts {
		status := corev1.VolumeMountStatus{Name: mount.Name, MountPath: mount.MountPath, ReadOnly: mount.ReadOnly}
		if mount.ReadOnly {
			mode := corev1.RecursiveReadOnlyDisabled
			if mount.RecursiveReadOnly != nil && *mount.RecursiveReadOnly != corev1.RecursiveReadOnlyDisabled {
				mode = corev1.RecursiveReadOnlyEnabled
			}
			status.RecursiveReadOnly = &mode
		}
		statuses = append(statuses, status)
	}
	return statuses
}
