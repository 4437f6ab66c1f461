package kubeletsim

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/internal/usage"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

// CrashContainer ends a running container of the pod with the exit code, or all of them if
// container is empty. The restart policy decides what follows. It fails if the pod is not on a
// simulated node or has no such container. It does not wait for the status to be written.
func (k *injector) CrashContainer(pod types.NamespacedName, container string, exitCode int32) error {
	return k.hit(pod, lifecycle.Occurrence{Container: container, ExitCode: exitCode})
}

// OOMKillContainer is CrashContainer with exit code 137 and reason OOMKilled, as from the
// kernel's OOM killer.
func (k *injector) OOMKillContainer(pod types.NamespacedName, container string) error {
	return k.hit(pod, lifecycle.Occurrence{Container: container, ExitCode: lifecycle.ExitKilled, Reason: usage.ReasonOOMKilled})
}

// FailReadiness makes the readiness probe of a running container fail with the message, or of
// all containers if container is empty, until RestoreReadiness or the container's end.
func (k *injector) FailReadiness(pod types.NamespacedName, container, why string) error {
	if why == "" {
		why = "simulated fault"
	}
	return k.hit(pod, lifecycle.Occurrence{Container: container, Kind: lifecycle.FailReadiness, Message: why})
}

// RestoreReadiness ends FailReadiness.
func (k *injector) RestoreReadiness(pod types.NamespacedName, container string) error {
	return k.hit(pod, lifecycle.Occurrence{Container: container, Kind: lifecycle.RestoreReadiness})
}

// FailImagePull makes every pull of the image fail with the message; an empty message ends it.
// Running containers and nodes that have the image are not affected, unless the pull policy is
// Always.
func (k *injector) FailImagePull(image, message string) {
	k.pulls.Set(podspec.ImageName(image), message)
}

func (k *injector) hit(name types.NamespacedName, f lifecycle.Occurrence) error {
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
	e.Occur(f)
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
