package kubeletsim

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/kubeletsim/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/podspec"
	"minikcm.dev/minikcm/kubeletsim/usage"
)

// Crash ends a running container with the exit code, or all running containers of
// the pod if container is empty. What follows is up to the pod's restart policy.
// It returns an error when no simulated node has the pod, or the pod has no such
// container. It does not wait for the status to be written.
func (k *Kubelet) Crash(pod types.NamespacedName, container string, exitCode int32) error {
	return k.hit(pod, lifecycle.Occurrence{Container: container, ExitCode: exitCode})
}

// OOMKill is Crash as the kernel does it when memory is short: exit code 137,
// reason OOMKilled.
func (k *Kubelet) OOMKill(pod types.NamespacedName, container string) error {
	return k.hit(pod, lifecycle.Occurrence{Container: container, ExitCode: lifecycle.ExitKilled, Reason: usage.ReasonOOMKilled})
}

// Unready lets the readiness probe of a running container fail, for the reason
// given, or those of all if container is empty, until ReadyAgain or its end.
func (k *Kubelet) Unready(pod types.NamespacedName, container, why string) error {
	if why == "" {
		why = "simulated fault"
	}
	return k.hit(pod, lifecycle.Occurrence{Container: container, Kind: lifecycle.Unready, Message: why})
}

// ReadyAgain takes back Unready.
func (k *Kubelet) ReadyAgain(pod types.NamespacedName, container string) error {
	return k.hit(pod, lifecycle.Occurrence{Container: container, Kind: lifecycle.ReadyAgain})
}

// FailImage lets every pull of the image fail with the message, as a registry does
// that has no such image, until it is called with an empty one. Containers that run
// and nodes that have the image are not affected, unless the pull policy is Always.
func (k *Kubelet) FailImage(image, message string) {
	k.imageErrors.set(podspec.ImageName(image), message)
}

func (k *Kubelet) hit(name types.NamespacedName, f lifecycle.Occurrence) error {
	pod, err := k.podLister.Pods(name.Namespace).Get(name.Name)
	if err != nil {
		return fmt.Errorf("breaking pod %s: %w", name, err)
	}
	if pod.Spec.NodeName == "" {
		return fmt.Errorf("breaking pod %s: it is on no node yet", name)
	}
	e := k.pods.get(pod.UID)
	if e == nil || k.nodes.Get(pod.Spec.NodeName) == nil {
		return fmt.Errorf("breaking pod %s: it is not on a simulated node", name)
	}
	if f.Container != "" && !hasContainer(pod, f.Container) {
		return fmt.Errorf("breaking pod %s: it has no container %s", name, f.Container)
	}
	e.hit(f)
	k.loop.Add(podKey(string(pod.UID)))
	return nil
}

func hasContainer(pod *corev1.Pod, name string) bool {
	for _, ref := range podspec.Containers(pod) {
		if ref.Name == name {
			return true
		}
	}
	return false
}
