package kubeletsim

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/utils/exec"

	"minikcm.dev/minikcm/kubeletsim/box"
	"minikcm.dev/minikcm/kubeletsim/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/nodes"
)

// OpenExec finds the running container opts.Container. The returned function runs the command
// (package box) until it, the container or ctx ends. A non-zero exit code is a
// utilexec.CodeExitError.
func (k *Kubelets) OpenExec(pod *corev1.Pod, opts *corev1.PodExecOptions) (func(ctx context.Context, streams remotecommand.StreamOptions) error, error) {
	in, err := k.findRunning(pod, opts.Container, "exec")
	if err != nil {
		return nil, err
	}
	if in == nil {
		return nil, fmt.Errorf("container not found (%q)", opts.Container)
	}
	return func(ctx context.Context, streams remotecommand.StreamOptions) error {
		ctx, stop := in.whileRunning(ctx)
		defer stop()
		return in.exec(ctx, opts.Command, nil, streams)
	}, nil
}

// containerRef identifies a running container for exec, attach, logs and probes.
type containerRef struct {
	kubelets *Kubelets
	node     *nodes.Node
	entry    *podEntry
	pod      *corev1.Pod
	spec     *corev1.Container
	// id is the container ID of the run.
	id string
}

// findRunning finds a running container; nil without an error if it does not run.
func (k *Kubelets) findRunning(pod *corev1.Pod, name, doing string) (*containerRef, error) {
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
	shown := e.see()
	id := shown.runOf(name)
	if id == "" {
		return nil, nil // it is said above
	}
	return k.containerRefOf(n, e, name)
}

// runOf returns the container ID of the present run; empty if there is none.
func (s *shownPod) runOf(name string) string {
	if s.gone {
		return ""
	}
	for i := range s.state.Containers {
		if c := &s.state.Containers[i]; c.Name == name && c.Phase == lifecycle.Running {
			return lifecycle.ContainerID(s.pod.UID, name, c.Restarts)
		}
	}
	return ""
}

// whileRunning returns a context that ends with the container's run.
func (in *containerRef) whileRunning(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		in.untilEnded(ctx)
		cancel()
	})
	return ctx, func() {
		cancel()
		watching.Wait()
	}
}

// untilEnded returns when the run has ended, or ctx.
func (in *containerRef) untilEnded(ctx context.Context) {
	for {
		shown := in.entry.see()
		if shown.runOf(in.spec.Name) != in.id {
			return
		}
		select {
		case <-shown.changed:
		case <-ctx.Done():
			return
		}
	}
}

// exec runs a command in the container. killed, if not nil, is called when the command was killed for its
// memory.
func (in *containerRef) exec(ctx context.Context, command []string, killed func(), streams remotecommand.StreamOptions) error {
	machine, release, err := in.machine(ctx)
	if err != nil {
		return err
	}
	defer release()
	machine.Killed = killed
	code, err := machine.Run(ctx, command, box.Streams{In: streams.Stdin, Out: streams.Stdout, Err: streams.Stderr, TTY: streams.Tty, Size: sizeOf(ctx, streams.TerminalSizeQueue)})
	var notStarted *box.NotStartedError
	switch {
	case errors.As(err, &notStarted):
		return fmt.Errorf("failed to exec in container: failed to start exec: %w", err)
	case err != nil && ctx.Err() == nil:
		return err
	case code != 0:
		return utilexec.CodeExitError{Err: fmt.Errorf("error executing command %v, exit code %d", command, code), Code: code}
	}
	return nil
}

// sizeOf tracks the size of the client's terminal.
func sizeOf(ctx context.Context, queue remotecommand.TerminalSizeQueue) func() (width, height uint16) {
	if queue == nil {
		return nil
	}
	var mu sync.Mutex
	var last remotecommand.TerminalSize
	go func() { // it ends when the connection does
		for ctx.Err() == nil {
			next := queue.Next()
			if next == nil {
				return
			}
			mu.Lock()
			last = *next
			mu.Unlock()
		}
	}()
	return func() (uint16, uint16) {
		mu.Lock()
		defer mu.Unlock()
		return last.Width, last.Height
	}
}
