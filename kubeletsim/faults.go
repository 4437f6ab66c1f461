package kubeletsim

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Crash ends a running container with the exit code, or all running containers of
// the pod if container is empty. What follows is up to the pod's restart policy.
// It returns an error when no simulated node has the pod, or the pod has no such
// container. It does not wait for the status to be written.
func (k *Kubelet) Crash(pod types.NamespacedName, container string, exitCode int32) error {
	return k.hit(pod, fault{container: container, exitCode: exitCode})
}

// OOMKill is Crash as the kernel does it when memory is short: exit code 137,
// reason OOMKilled.
func (k *Kubelet) OOMKill(pod types.NamespacedName, container string) error {
	return k.hit(pod, fault{container: container, exitCode: exitKilled, reason: reasonOOM})
}

// Unready lets the readiness probe of a running container fail, for the reason
// given, or those of all if container is empty, until ReadyAgain or its end.
func (k *Kubelet) Unready(pod types.NamespacedName, container, why string) error {
	if why == "" {
		why = "simulated fault"
	}
	return k.hit(pod, fault{container: container, kind: unready, message: why})
}

// ReadyAgain takes back Unready.
func (k *Kubelet) ReadyAgain(pod types.NamespacedName, container string) error {
	return k.hit(pod, fault{container: container, kind: readyAgain})
}

// FailImage lets every pull of the image fail with the message, as a registry does
// that has no such image, until it is called with an empty one. Containers that run
// and nodes that have the image are not affected, unless the pull policy is Always.
func (k *Kubelet) FailImage(image, message string) { k.imageErrors.set(imageName(image), message) }

// imageErrors are the messages of pulls that fail, by the images' full names.
type imageErrors struct{ byName sync.Map }

func (e *imageErrors) set(name, message string) {
	if message == "" {
		e.byName.Delete(name)
	} else {
		e.byName.Store(name, message)
	}
}

func (e *imageErrors) get(image string) string {
	message, _ := e.byName.Load(imageName(image))
	text, _ := message.(string)
	return text
}

func (k *Kubelet) hit(name types.NamespacedName, f fault) error {
	pod, err := k.podLister.Pods(name.Namespace).Get(name.Name)
	if err != nil {
		return fmt.Errorf("breaking pod %s: %w", name, err)
	}
	if pod.Spec.NodeName == "" {
		return fmt.Errorf("breaking pod %s: it is on no node yet", name)
	}
	e := k.pods.get(pod.UID)
	if e == nil || k.nodes.get(pod.Spec.NodeName) == nil {
		return fmt.Errorf("breaking pod %s: it is not on a simulated node", name)
	}
	if f.container != "" && !hasContainer(pod, f.container) {
		return fmt.Errorf("breaking pod %s: it has no container %s", name, f.container)
	}
	e.hit(f)
	k.loop.Add(podKey(string(pod.UID)))
	return nil
}

func hasContainer(pod *corev1.Pod, name string) bool {
	for _, ref := range containersOf(pod) {
		if ref.Name == name {
			return true
		}
	}
	return false
}
