package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
)

// The reasons of waiting containers.
const (
	reasonCreating     = "ContainerCreating"
	reasonInitializing = "PodInitializing"
	reasonCrashLoop    = "CrashLoopBackOff"
	reasonPullBackOff  = "ImagePullBackOff"
	reasonConfigError  = "CreateContainerConfigError"
	reasonInvalidImage = "InvalidImageName"
)

// PodStatus returns the status that the kubelet writes for a pod on the node with the given
// address. Fields that other components own are kept.
func PodStatus(pod *corev1.Pod, s *State, hostIPs []string, now time.Time) corev1.PodStatus {
	if s.rejected {
		return rejectedStatus(pod, s)
	}
	if s.sealed {
		return pod.Status
	}
	status := pod.Status
	status.ObservedGeneration = pod.Generation
	status.Phase = phaseOf(pod, s)
	status.Reason, status.Message = s.reason, s.message
	if s.Ended && s.reason == "" {
		// Another component ended the pod and set the reason.
		status.Reason, status.Message = pod.Status.Reason, pod.Status.Message
	}
	if s.evicted && !s.Ended {
		// Upstream's kubelet reports the reason with the final phase.
		status.Reason, status.Message = "", ""
	}
	if !s.Admitted.IsZero() {
		start := APITime(s.Admitted)
		status.StartTime = &start
	}
	setHostIPs(&status, hostIPs)
	setPodIP(pod, s, &status)
	setContainerStatuses(pod, s, &status)
	status.Conditions = podConditions(pod, s, &status, now)
	return status
}

// rejectedStatus is the status of a pod that was not admitted. It has no container statuses.
func rejectedStatus(pod *corev1.Pod, s *State) corev1.PodStatus {
	status := pod.Status
	start := APITime(s.Admitted)
	status.ObservedGeneration = pod.Generation
	status.Phase = corev1.PodFailed
	status.Reason, status.Message = s.reason, s.message
	status.StartTime = &start
	return status
}

func setHostIPs(status *corev1.PodStatus, hostIPs []string) {
	if len(hostIPs) == 0 {
		return
	}
	status.HostIP = hostIPs[0]
	status.HostIPs = make([]corev1.HostIP, len(hostIPs))
	for i, ip := range hostIPs {
		status.HostIPs[i].IP = ip
	}
}

func setPodIP(pod *corev1.Pod, s *State, status *corev1.PodStatus) {
	switch {
	case !s.Sandbox:
		return
	case pod.Spec.HostNetwork:
		status.PodIPs = make([]corev1.PodIP, len(status.HostIPs))
		for i, host := range status.HostIPs {
			status.PodIPs[i].IP = host.IP
		}
	case s.Address.IsValid():
		status.PodIPs = []corev1.PodIP{{IP: s.Address.String()}}
		if s.SecondAddress.IsValid() {
			status.PodIPs = append(status.PodIPs, corev1.PodIP{IP: s.SecondAddress.String()})
		}
	default:
		return
	}
	if len(status.PodIPs) > 0 {
		status.PodIP = status.PodIPs[0].IP
	}
}

// phaseOf follows the pod lifecycle of the Kubernetes documentation: Pending until every app
// container has run once, and Succeeded or Failed only when none will run again. As with upstream's
// kubelet, a pod that starts over is Pending while an init container runs.
func phaseOf(pod *corev1.Pod, s *State) corev1.PodPhase {
	if Finished(pod) {
		return pod.Status.Phase
	}
	if s.Ended {
		return finalPhase(s)
	}
	for i := range s.Containers {
		switch c := &s.Containers[i]; {
		case c.Kind == podspec.AppContainer && c.Phase == Created && c.last == nil,
			c.Kind == podspec.InitContainer && c.Phase == Running,
			c.Kind == podspec.SidecarContainer && c.Phase == Running && !c.started && !s.initialized:
			return corev1.PodPending
		}
	}
	if len(s.Containers) == 0 {
		return corev1.PodPending
	}
	return corev1.PodRunning
}

func finalPhase(s *State) corev1.PodPhase {
	if s.reason != "" || !s.initialized {
		return corev1.PodFailed
	}
	for i := range s.Containers {
		if c := &s.Containers[i]; c.Kind == podspec.AppContainer && (c.termination == nil || c.termination.ExitCode != 0) {
			return corev1.PodFailed
		}
	}
	return corev1.PodSucceeded
}

func setContainerStatuses(pod *corev1.Pod, s *State, status *corev1.PodStatus) {
	status.InitContainerStatuses = nil
	status.EphemeralContainerStatuses = nil
	if len(pod.Spec.InitContainers) > 0 {
		status.InitContainerStatuses = make([]corev1.ContainerStatus, 0, len(pod.Spec.InitContainers))
	}
	status.ContainerStatuses = make([]corev1.ContainerStatus, 0, len(pod.Spec.Containers))
	initial := reasonCreating
	if len(pod.Spec.InitContainers) > 0 {
		initial = reasonInitializing
	}
	for i, ref := range podspec.Containers(pod) {
		c := &Container{Name: ref.Name, Kind: ref.Kind, image: ref.Image}
		if i < len(s.Containers) {
			c = &s.Containers[i]
		}
		waiting := corev1.ContainerStateWaiting{Reason: initial}
		if !s.startOverAt.IsZero() && c.last != nil && c.last.Reason == reasonRestartingAll {
			waiting = corev1.ContainerStateWaiting{Reason: reasonRestartingAll, Message: messageRestartingAll}
		}
		cs := containerStatus(pod, ref, c, waiting)
		switch ref.Kind {
		case podspec.InitContainer, podspec.SidecarContainer:
			status.InitContainerStatuses = append(status.InitContainerStatuses, cs)
		case podspec.EphemeralContainer:
			status.EphemeralContainerStatuses = append(status.EphemeralContainerStatuses, cs)
		default:
			status.ContainerStatuses = append(status.ContainerStatuses, cs)
		}
	}
	// Upstream's kubelet sorts these statuses only.
	slices.SortFunc(status.ContainerStatuses, func(a, b corev1.ContainerStatus) int { return strings.Compare(a.Name, b.Name) })
}

func containerStatus(pod *corev1.Pod, ref podspec.Container, c *Container, waiting corev1.ContainerStateWaiting) corev1.ContainerStatus {
	cs := corev1.ContainerStatus{Name: c.Name, Image: ref.Image, RestartCount: c.Restarts}
	started := c.Phase == Running && c.started
	switch c.Kind {
	case podspec.InitContainer:
		// An init container is ready when it has completed.
		cs.Started, cs.Ready = &started, Succeeded(c)
	case podspec.EphemeralContainer:
		// Ephemeral containers have no readiness.
	default:
		cs.Started, cs.Ready = &started, c.ready
	}
	if c.Phase != Created {
		cs.Image = podspec.ImageName(c.image)
		cs.ImageID = podspec.ImageID(c.image)
		cs.ContainerID = ContainerID(podspec.RuntimeUID(pod), c.Name, c.Restarts)
		setResources(c, &cs)
		cs.VolumeMounts = mountStatuses(ref.VolumeMounts)
	}
	if c.last != nil {
		cs.LastTerminationState.Terminated = c.last
	}
	if why := startError(ref, c); why != nil {
		cs.State.Waiting = why
		if c.termination != nil {
			cs.LastTerminationState.Terminated = c.termination
		}
		return cs
	}
	switch c.Phase {
	case Created:
		cs.State.Waiting = &waiting
	case Running:
		cs.State.Running = &corev1.ContainerStateRunning{StartedAt: APITime(c.startedAt)}
	case exited:
		cs.State.Terminated = c.termination
	case backingOff:
		cs.LastTerminationState.Terminated = c.termination
		cs.State.Waiting = &corev1.ContainerStateWaiting{
			Reason:  reasonCrashLoop,
			Message: "back-off " + c.delay.String() + " restarting failed container=" + c.Name + " pod=" + podTitle(pod),
		}
	}
	return cs
}

// startError is the waiting state of a container that cannot be started; nil if nothing
// prevents it.
func startError(ref podspec.Container, c *Container) *corev1.ContainerStateWaiting {
	switch {
	case c.Phase == Running:
	case c.waits != nil:
		return c.waits
	case c.imageError != "":
		return &corev1.ContainerStateWaiting{Reason: reasonInvalidImage, Message: c.imageError}
	case c.pullError != "":
		return &corev1.ContainerStateWaiting{
			Reason:  reasonPullBackOff,
			Message: fmt.Sprintf("Back-off pulling image %q: ErrImagePull: %s", ref.Image, c.pullError),
		}
	case c.configError != "":
		return &corev1.ContainerStateWaiting{Reason: reasonConfigError, Message: c.configError}
	}
	return nil
}

// setResources reports the granted resources and the present run's.
func setResources(c *Container, cs *corev1.ContainerStatus) {
	if c.Kind == podspec.EphemeralContainer {
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
