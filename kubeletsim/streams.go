package kubeletsim

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/remotecommand"

	"minikcm.dev/minikcm/internal/network/secure"
	"minikcm.dev/minikcm/kubeletsim/internal/containers"
)

// OpenExec finds the running container opts.Container. The returned function runs the command
// (package box) until it, the container or ctx ends. A non-zero exit code is a
// utilexec.CodeExitError.
func (k *serving) OpenExec(pod *corev1.Pod, opts *corev1.PodExecOptions) (func(ctx context.Context, streams remotecommand.StreamOptions) error, error) {
	in, err := k.findRunning(pod, opts.Container, "exec")
	if err != nil {
		return nil, err
	}
	if in == nil {
		return nil, fmt.Errorf("container not found (%q)", opts.Container)
	}
	return func(ctx context.Context, streams remotecommand.StreamOptions) error {
		return in.Exec(ctx, opts.Command, streams)
	}, nil
}

// OpenAttach finds the running container opts.Container. The returned function connects the
// streams until the container's end or ctx's: with the container's process if that reads its
// input, else with the log from now on.
func (k *serving) OpenAttach(pod *corev1.Pod, opts *corev1.PodAttachOptions) (func(ctx context.Context, streams remotecommand.StreamOptions) error, error) {
	in, err := k.findRunning(pod, opts.Container, "attach")
	if err != nil {
		return nil, err
	}
	if in == nil {
		return nil, fmt.Errorf("container %s not found in pod %s_%s", opts.Container, pod.Name, pod.Namespace)
	}
	return in.Attach, nil
}

// findRunning finds a running container; nil without an error if it does not run.
func (k *serving) findRunning(pod *corev1.Pod, name, doing string) (*containers.Ref, error) {
	n := k.nodes.Get(pod.Spec.NodeName)
	if n == nil {
		return nil, k.notSimulated(pod.Spec.NodeName)
	}
	if !n.Reachable() {
		return nil, apierrors.NewInternalError(fmt.Errorf("error dialing backend: dial tcp %s:10250: connect: no route to host (%s %s/%s/%s)",
			n.Address, doing, pod.Namespace, pod.Name, name))
	}
	e := k.pods.get(pod.UID)
	if e == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), pod.Name)
	}
	shown := e.See()
	if shown.RunOf(name) == "" {
		return nil, nil // it is said above
	}
	return k.containers.Running(n, e, name)
}

// openPorts returns a function that returns a running pod's TCP port; nil for a port without a listener.
func (k *serving) openPorts(pod *corev1.Pod) (func(port int32) *secure.Port, error) {
	n := k.nodes.Get(pod.Spec.NodeName)
	switch {
	case n == nil:
		return nil, k.notSimulated(pod.Spec.NodeName)
	case !n.Reachable():
		return nil, apierrors.NewInternalError(fmt.Errorf("error dialing backend: dial tcp %s:10250: connect: no route to host", n.Address))
	}
	e := k.pods.get(pod.UID)
	if e == nil {
		return nil, fmt.Errorf("pod not found (%q)", pod.Name+"_"+pod.Namespace)
	}
	if shown := e.See(); shown.Gone || !shown.State.Sandbox || shown.State.Ended {
		return nil, fmt.Errorf("pod not found (%q)", pod.Name+"_"+pod.Namespace)
	}
	return func(port int32) *secure.Port { return k.containers.Port(n, e, port) }, nil
}
