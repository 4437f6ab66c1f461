package containers

import (
	"context"
	"errors"
	"io"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/utils/exec"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/internal/usage"
	"minikcm.dev/minikcm/kubeletsim/internal/applets"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/script"
)

// console is the process of a container that reads its input: one with stdin whose command is a
// simulated program that is not predictable (sh, cat), or one with a terminal and no command,
// which runs a shell. The process starts when the first client attaches; its exit code ends the
// container. Output while no client is attached is lost.
type console struct {
	id    string
	begin sync.Once
	read  *io.PipeReader
	in    *io.PipeWriter
	ended chan struct{}

	mu      sync.Mutex
	clients []*consoleClient
	// used means that a client has attached before.
	used bool
}

type consoleClient struct{ out, err io.Writer }

// consoleCommand returns the command of the container's console; nil if it has none.
func (in *Ref) consoleCommand() []string {
	words := consoleOf(in.pod, in.spec, in.id)
	if _, annotated := in.annotatedLog(); annotated && len(in.spec.Command)+len(in.spec.Args) > 0 {
		return nil
	}
	return words
}

// consoleOf returns the command that runs when the first client attaches to a run of a container whose log nothing declares; nil if
// there is none.
func consoleOf(pod *corev1.Pod, c *corev1.Container, id string) []string {
	if !c.Stdin {
		return nil
	}
	words := podspec.CommandLine(c.Command, c.Args)
	switch {
	case len(words) == 0 && c.TTY:
		return []string{"sh"}
	case len(words) == 0 || !applets.Runs(words):
		return nil
	}
	program := script.ProgramOf(pod, c)
	program.ID = id
	if _, _, understood := program.Predict(); understood {
		return nil
	}
	return words
}

func (in *Ref) annotatedLog() (script.AnnotatedLog, bool) {
	for _, ref := range podspec.Containers(in.pod) {
		if ref.Name == in.spec.Name {
			return script.AnnotatedLogOf(in.pod, ref)
		}
	}
	return script.AnnotatedLog{}, false
}

// reads reports whether the container's process reads its input.
func (in *Ref) reads() bool { return in.consoleCommand() != nil }

// attachConsole connects the streams with the container's process.
func (in *Ref) attachConsole(ctx context.Context, streams remotecommand.StreamOptions) error {
	c := in.console()
	client := &consoleClient{out: streams.Stdout, err: streams.Stderr}
	first := c.enter(client)
	defer c.leave(client)
	if streams.Stdin != nil {
		go func() { // it ends when the connection does, or the process
			_, _ = io.Copy(c.in, streams.Stdin)
			if first && in.spec.StdinOnce {
				_ = c.in.Close()
			}
		}()
	}
	c.begin.Do(func() { in.start(c) })
	select {
	case <-c.ended:
	case <-ctx.Done():
	}
	return nil
}

// console returns the console of the container's present run.
func (in *Ref) console() *console {
	f := in.entry.Files()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.consoles == nil {
		f.consoles = map[string]*console{}
	}
	c := f.consoles[in.spec.Name]
	if c == nil || c.id != in.id {
		c = &console{id: in.id, ended: make(chan struct{})}
		c.read, c.in = io.Pipe()
		f.consoles[in.spec.Name] = c
	}
	return c
}

// start begins the process.
func (in *Ref) start(c *console) {
	run := func(starting *inflight.Work) {
		starting.End() // Machine.Run counts the command itself
		defer close(c.ended)
		defer c.read.CloseWithError(io.ErrClosedPipe)
		ctx, stop := in.runtime.whileServing()
		defer stop()
		ctx, stopWatching := in.whileRunning(ctx)
		defer stopWatching()
		killed := false
		err := in.exec(ctx, in.consoleCommand(), func() { killed = true }, remotecommand.StreamOptions{
			Stdin:  c.read,
			Stdout: consoleWriter{c, func(client *consoleClient) io.Writer { return client.out }},
			Stderr: consoleWriter{c, func(client *consoleClient) io.Writer { return client.err }},
			Tty:    in.spec.TTY,
		})
		switch {
		case ctx.Err() != nil:
		case killed:
			in.entry.Occur(lifecycle.Occurrence{Container: in.spec.Name, ExitCode: lifecycle.ExitKilled, Reason: usage.ReasonOOMKilled})
		default:
			in.crash(in.spec.Name, exitCodeOf(err))
		}
	}
	if !in.runtime.processes.Go(run) {
		close(c.ended)
	}
}

// whileServing returns a context that ends with the context of Serve.
func (rt *Runtime) whileServing() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-rt.ended:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel()
		watching.Wait()
	}
}

// crash ends a container of the pod.
func (in *Ref) crash(container string, exitCode int32) {
	if container == "" {
		return // the sandbox's process ignores signals
	}
	in.entry.Occur(lifecycle.Occurrence{Container: container, ExitCode: exitCode})
}

func exitCodeOf(err error) int32 {
	var exit utilexec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int32(exit.ExitStatus()) // a byte
	}
	return 1
}

func (c *console) enter(client *consoleClient) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first, c.used = !c.used, true
	c.clients = append(c.clients, client)
	return first
}

func (c *console) leave(client *consoleClient) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, other := range c.clients {
		if other == client {
			c.clients = append(c.clients[:i:i], c.clients[i+1:]...)
			return
		}
	}
}

// consoleWriter writes to all attached clients.
type consoleWriter struct {
	console *console
	stream  func(*consoleClient) io.Writer
}

func (w consoleWriter) Write(p []byte) (int, error) {
	w.console.mu.Lock()
	clients := w.console.clients
	w.console.mu.Unlock()
	for _, client := range clients {
		if out := w.stream(client); out != nil {
			_, _ = out.Write(p) // a client that has disconnected must not stop the process
		}
	}
	return len(p), nil
}
