package lifecycle

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
)

// LoggedRun returns the container ID of the run whose log is requested. Its errors have the
// texts of upstream's kubelet.
func LoggedRun(pod *corev1.Pod, s *State, name string, previous bool) (id string, err error) {
	status := findStatus(pod, s, name)
	if status == nil {
		return "", fmt.Errorf("container %q in pod %q is not available", name, pod.Name)
	}
	last, state := status.LastTerminationState.Terminated, status.State
	switch {
	case previous && (last == nil || last.ContainerID == ""):
		return "", fmt.Errorf("previous terminated container %q in pod %q not found", name, pod.Name)
	case previous:
		return last.ContainerID, nil
	case state.Running != nil:
		return status.ContainerID, nil
	case state.Terminated != nil:
		return state.Terminated.ContainerID, nil
	case last != nil && last.ContainerID == "":
		return "", fmt.Errorf("container %q in pod %q is terminated", name, pod.Name)
	case last != nil:
		return last.ContainerID, nil
	}
	why := "no logs yet"
	if state.Waiting != nil {
		switch why = state.Waiting.Reason; why {
		case "ErrImagePull":
			why = "image can't be pulled"
		case "ImagePullBackOff":
			why = "trying and failing to pull image"
		}
	}
	return "", fmt.Errorf("container %q in pod %q is waiting to start: %s", name, pod.Name, why)
}

// findStatus returns the status that the kubelet would report for a container now; nil if there
// is none.
func findStatus(pod *corev1.Pod, s *State, name string) *corev1.ContainerStatus {
	if s.rejected {
		return nil
	}
	var status corev1.PodStatus
	setContainerStatuses(pod, s, &status)
	for _, list := range [][]corev1.ContainerStatus{status.ContainerStatuses, status.InitContainerStatuses, status.EphemeralContainerStatuses} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// RunTimes are the start and end of a run. Both are zero for an unknown run; Ended is zero for
// a run that has not ended.
type RunTimes struct{ Began, Ended time.Time }

func (s *State) TimesOf(pod *corev1.Pod, name, id string) RunTimes {
	for i := range s.Containers {
		c := &s.Containers[i]
		if c.Name != name {
			continue
		}
		switch id {
		case ContainerID(podspec.RuntimeUID(pod), name, c.Restarts):
			times := RunTimes{Began: c.startedAt}
			if c.Phase != Running {
				times.Ended = c.endedAt()
			}
			return times
		case ContainerID(podspec.RuntimeUID(pod), name, c.Restarts-1):
			return c.lastRun
		}
	}
	return RunTimes{}
}

// BeganAt returns when the present run with the ID began; the zero time if the kubelet has not seen that.
func (s *State) BeganAt(pod *corev1.Pod, name, id string) time.Time {
	for i := range s.Containers {
		c := &s.Containers[i]
		if c.Name == name && c.Phase == Running && !c.adopted && ContainerID(podspec.RuntimeUID(pod), name, c.Restarts) == id {
			return c.startedAt
		}
	}
	return time.Time{}
}

// endedAt is the end of the last run. An adopted container's times come from the API in whole
// seconds, so its run is taken to have lasted until the end of that second.
func (c *Container) endedAt() time.Time {
	if c.adopted {
		return c.finishedAt.Add(time.Second - 1)
	}
	return c.finishedAt
}
