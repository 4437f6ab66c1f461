package containers

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/utils/exec"

	"minikcm.dev/minikcm/kubeletsim/internal/box"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// Ref identifies a running container for exec, attach, logs and probes.
type Ref struct {
	runtime *Runtime
	node    *nodes.Node
	// entry is the pod as the kubelet keeps it, pod its object when the reference was made.
	entry Pod
	pod   *corev1.Pod
	spec  *corev1.Container
	// id is the container ID of the run.
	id string
	// began is read in place of the API; nil: the API is read.
	began *beginning
}

// Exec runs a command in the container (package box) until it, the container or ctx ends. A
// non-zero exit code is a utilexec.CodeExitError.
func (in *Ref) Exec(ctx context.Context, command []string, streams remotecommand.StreamOptions) error {
	ctx, stop := in.whileRunning(ctx)
	defer stop()
	return in.exec(ctx, command, nil, streams)
}

// whileRunning returns a context that ends with the container's run.
func (in *Ref) whileRunning(ctx context.Context) (context.Context, func()) {
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
func (in *Ref) untilEnded(ctx context.Context) {
	for {
		shown := in.entry.See()
		if shown.RunOf(in.spec.Name) != in.id {
			return
		}
		select {
		case <-shown.Changed:
		case <-ctx.Done():
			return
		}
	}
}

// exec runs a command in the container. killed, if not nil, is called when the command was killed for its
// memory.
func (in *Ref) exec(ctx context.Context, command []string, killed func(), streams remotecommand.StreamOptions) error {
	machine, volumes, err := in.machine(ctx)
	if err != nil {
		return err
	}
	defer volumes.release()
	in.keepFresh(ctx, machine.Files, volumes)
	machine.Killed, machine.ShowAssumed = killed, true
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
