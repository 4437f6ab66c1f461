package kubeletsim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/remotecommand"
)

// OpenAttach finds the running container opts.Container. The returned function connects the
// streams until the container's end or ctx's: with the container's process if that reads its
// input (see console), else with the log from now on.
func (k *Kubelets) OpenAttach(pod *corev1.Pod, opts *corev1.PodAttachOptions) (func(ctx context.Context, streams remotecommand.StreamOptions) error, error) {
	in, err := k.findRunning(pod, opts.Container, "attach")
	if err != nil {
		return nil, err
	}
	if in == nil {
		return nil, fmt.Errorf("container %s not found in pod %s_%s", opts.Container, pod.Name, pod.Namespace)
	}
	if in.reads() {
		return in.attachConsole, nil
	}
	return in.attachLog, nil
}

// attachLog follows the container's log from now on. It discards the client's input.
func (in *containerRef) attachLog(ctx context.Context, streams remotecommand.StreamOptions) error {
	if streams.Stdin != nil {
		go func() { _, _ = io.Copy(io.Discard, streams.Stdin) }() // until the connection ends
	}
	if in.spec.TTY {
		return in.follow(ctx, corev1.LogStreamAll, &terminalWriter{streams.Stdout})
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var errOut error
	var following sync.WaitGroup
	if streams.Stderr != nil {
		following.Go(func() { errOut = in.follow(ctx, corev1.LogStreamStderr, streams.Stderr) })
	}
	err := in.follow(ctx, corev1.LogStreamStdout, streams.Stdout)
	if err != nil {
		cancel()
	}
	following.Wait()
	return errors.Join(err, errOut)
}

// follow copies what the container writes to one of its streams from now on.
func (in *containerRef) follow(ctx context.Context, from string, w io.Writer) error {
	if w == nil {
		w = io.Discard
	}
	now := metav1.NewTime(in.kubelets.opts.Clock.Now())
	opts := &corev1.PodLogOptions{Container: in.spec.Name, Follow: true, SinceTime: &now, Stream: &from}
	reader := &logReader{kubelets: in.kubelets, entry: in.entry, container: in.spec.Name, id: in.id, opts: opts}
	err := reader.write(ctx, w)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// terminalWriter writes line ends as a terminal needs them.
type terminalWriter struct{ w io.Writer }

func (t *terminalWriter) Write(p []byte) (int, error) {
	if t.w == nil {
		return len(p), nil
	}
	if _, err := io.WriteString(t.w, strings.ReplaceAll(string(p), "\n", "\r\n")); err != nil {
		return 0, err
	}
	return len(p), nil
}
