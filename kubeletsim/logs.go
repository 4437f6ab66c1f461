package kubeletsim

import (
	"context"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// OpenLog finds what one run of a container has written, as a kubelet would that is
// asked for its log: opts.Container must name a container of the pod. What write
// writes follows from the container's program and from the cluster's time; of a run,
// the last keepLines lines can be had.
func (k *Kubelet) OpenLog(pod *corev1.Pod, opts *corev1.PodLogOptions) (write func(ctx context.Context, w io.Writer) error, err error) {
	n := k.nodes.get(pod.Spec.NodeName)
	if n == nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("node %s is not a simulated one", pod.Spec.NodeName))
	}
	if !n.reachable() {
		return nil, apierrors.NewInternalError(fmt.Errorf("Get \"https://%s:10250/containerLogs/%s/%s/%s\": dial tcp %s:10250: connect: no route to host",
			n.address, pod.Namespace, pod.Name, opts.Container, n.address))
	}
	e := k.pods.get(pod.UID)
	if e == nil {
		e = &podEntry{pod: pod, images: &k.images}
	}
	shown := e.see()
	id, err := loggedRun(shown.pod, &shown.state, opts.Container, opts.Previous)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	reader := &logReader{kubelet: k, entry: e, container: opts.Container, id: id, opts: opts}
	if first := reader.run(shown); first.began.IsZero() {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("unable to retrieve container logs for %s", id))
	}
	return reader.write, nil
}

// loggedRun is the container ID of the run whose log is asked for. The errors are
// those of a kubelet.
func loggedRun(pod *corev1.Pod, s *podState, name string, previous bool) (id string, err error) {
	status := findStatus(pod, s, name)
	if status == nil {
		return "", fmt.Errorf("container %q in pod %q is not available", name, pod.Name)
	}
	last, state := status.LastTerminationState.Terminated, status.State
	switch {
	case previous && last == nil:
		return "", fmt.Errorf("previous terminated container %q in pod %q not found", name, pod.Name)
	case previous:
		return last.ContainerID, nil
	case state.Running != nil:
		return status.ContainerID, nil
	case state.Terminated != nil:
		return state.Terminated.ContainerID, nil
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

// findStatus is what the kubelet would say of a container now; nil if nothing.
func findStatus(pod *corev1.Pod, s *podState, name string) *corev1.ContainerStatus {
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

// loggedTimes are when a run began and when it ended; zero times for a run that is not
// known, and for one that has not ended.
type loggedTimes struct{ began, ended time.Time }

func (s *podState) timesOf(pod *corev1.Pod, name, id string) loggedTimes {
	for i := range s.containers {
		c := &s.containers[i]
		if c.name != name {
			continue
		}
		switch id {
		case containerID(pod.UID, name, c.restarts):
			times := loggedTimes{began: c.startedAt}
			if c.phase != running {
				times.ended = c.endedAt()
			}
			return times
		case containerID(pod.UID, name, c.restarts-1):
			return c.lastRun
		}
	}
	return loggedTimes{}
}

// endedAt is when the last run ended. Of an adopted one the API told the second only:
// it is taken to have used it up.
func (c *container) endedAt() time.Time {
	if c.adopted {
		return c.finishedAt.Add(time.Second - 1)
	}
	return c.finishedAt
}
