package containers

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/remotecommand"
)

// Attach connects the streams until the container's end or ctx's: with the container's process
// if that reads its input (see console), else with the log from now on.
func (in *Ref) Attach(ctx context.Context, streams remotecommand.StreamOptions) error {
	if in.reads() {
		return in.attachConsole(ctx, streams)
	}
	return in.attachLog(ctx, streams)
}

// attachLog follows the container's log from now on. It discards the client's input.
func (in *Ref) attachLog(ctx context.Context, streams remotecommand.StreamOptions) error {
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

// follow copies the further output of the container on one of its streams.
func (in *Ref) follow(ctx context.Context, from string, w io.Writer) error {
	if w == nil {
		w = io.Discard
	}
	now := metav1.NewTime(in.runtime.opts.Clock.Now())
	opts := &corev1.PodLogOptions{Container: in.spec.Name, Follow: true, SinceTime: &now, Stream: &from}
	reader := &LogReader{runtime: in.runtime, entry: in.entry, container: in.spec.Name, id: in.id, opts: opts}
	err := reader.Write(ctx, w)
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
