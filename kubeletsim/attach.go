package kubeletsim

import (
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/remotecommand"
)

// OpenAttach finds a container that runs, by opts.Container. What it returns copies what
// the container writes from then on, until its end or ctx's; what the client sends is
// read by a container that is a shell, and lost on all others.
func (k *Kubelet) OpenAttach(pod *corev1.Pod, opts *corev1.PodAttachOptions) (func(ctx context.Context, streams remotecommand.StreamOptions) error, error) {
	in, err := k.findRunning(pod, opts.Container, "attach")
	if err != nil {
		return nil, err
	}
	if in == nil {
		return nil, fmt.Errorf("container %s not found in pod %s_%s", opts.Container, pod.Name, pod.Namespace)
	}
	return in.attach, nil
}

// attach follows the container's log from now on.
func (in *place) attach(ctx context.Context, streams remotecommand.StreamOptions) error {
	now := metav1.NewTime(in.kubelet.opts.Clock.Now())
	if streams.Stdin != nil {
		go func() { _, _ = io.Copy(io.Discard, streams.Stdin) }() // until the connection ends
	}
	opts := &corev1.PodLogOptions{Container: in.spec.Name, Follow: true, SinceTime: &now}
	reader := &logReader{kubelet: in.kubelet, entry: in.entry, container: in.spec.Name, id: in.id, opts: opts}
	out := streams.Stdout
	if out == nil {
		out = io.Discard
	}
	err := reader.write(ctx, out)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
