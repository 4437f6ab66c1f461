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

// OpenExec finds the container in which a command is to run: opts.Container must name
// one of the pod. What it returns runs the command (package box) until its end, or until
// the container's or ctx's. An exit code that is not 0 is a utilexec.CodeExitError.
func (k *Kubelet) OpenExec(pod *corev1.Pod, opts *corev1.PodExecOptions) (func(ctx context.Context, streams remotecommand.StreamOptions) error, error) {
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
		return in.exec(ctx, opts.Command, streams)
	}, nil
}

// place is a running container, as those see it who come from outside.
type place struct {
	kubelet *Kubelet
	node    *nodes.Node
	entry   *podEntry
	pod     *corev1.Pod
	spec    *corev1.Container
	// id names the run.
	id string
}

// findRunning finds a container that runs; nil if it does not.
func (k *Kubelet) findRunning(pod *corev1.Pod, name, doing string) (*place, error) {
	n := k.nodes.Get(pod.Spec.NodeName)
	if n == nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("node %s is not a simulated one", pod.Spec.NodeName))
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
	return k.placeOf(n, e, name)
}

// runOf is the container ID of the run that is going on; empty: none is.
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
func (in *place) whileRunning(ctx context.Context) (context.Context, func()) {
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
func (in *place) untilEnded(ctx context.Context) {
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

// exec runs a command in the container.
func (in *place) exec(ctx context.Context, command []string, streams remotecommand.StreamOptions) error {
	machine, release, err := in.machine(ctx)
	if err != nil {
		return err
	}
	defer release()
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

// sizeOf keeps the size of the client's terminal.
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
