package kubeletsim

import (
	"fmt"
	"sync"
	"time"

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
	return k.hit(pod, fault{container: container, exitCode: exitKilled, reason: "OOMKilled"})
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
	e := k.pods.get(pod.UID)
	if e == nil || k.nodes.get(pod.Spec.NodeName) == nil {
		return fmt.Errorf("breaking pod %s: it is not on a simulated node", name)
	}
	if f.container != "" && !hasContainer(pod, f.container) {
		return fmt.Errorf("breaking pod %s: it has no container %s", name, f.container)
	}
	e.hit(f)
	k.queue.add(podKey(string(pod.UID)))
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

// StopNode lets nothing be heard of a node any more: it renews no lease, writes no
// status, and does nothing about its pods. Its containers are not known to have
// ended.
func (k *Kubelet) StopNode(name string) error {
	n := k.nodes.get(name)
	if n == nil {
		return fmt.Errorf("stopping node %s: there is no simulated node of that name", name)
	}
	n.mu.Lock()
	n.stopped = true
	n.mu.Unlock()
	k.due.set(nodeKey(name), time.Time{})
	return nil
}

// StartNode brings back a node that was stopped, or whose Node was deleted: it
// registers if it has to, and does about its pods what is due by then.
func (k *Kubelet) StartNode(name string) error {
	n := k.nodes.get(name)
	if n == nil {
		return fmt.Errorf("starting node %s: there is no simulated node of that name", name)
	}
	n.start()
	k.wakeNode(name)
	return nil
}

// start makes the kubelet register and report everything when it is next looked at.
func (n *node) start() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped || n.lost {
		n.restarted = true
	}
	n.stopped, n.lost = false, false
}

// takeRestart is whether start was called since it was last asked.
func (n *node) takeRestart() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.restarted
	n.restarted = false
	return was
}

func (k *Kubelet) wakeNode(name string) {
	k.queue.add(nodeKey(name))
	for _, uid := range k.pods.on(name) {
		k.queue.add(podKey(string(uid)))
	}
}

// AddNode adds a node. It is registered soon after, once Run has begun.
func (k *Kubelet) AddNode(spec NodeSpec) error {
	if err := k.nodes.add(spec); err != nil {
		return err
	}
	k.wakeNode(spec.Name)
	return nil
}

// AddNodes adds n nodes like Options.Node with the next free names of the form
// node-N, which it returns; with an error, those that were added before it.
func (k *Kubelet) AddNodes(n int) ([]string, error) {
	names, err := k.nodes.addNumbered(n, k.opts.Node)
	for _, name := range names {
		k.wakeNode(name)
	}
	return names, err
}

// Nodes lists the simulated nodes, stopped ones too, in the order in which they
// were added.
func (k *Kubelet) Nodes() []string { return k.nodes.names() }
