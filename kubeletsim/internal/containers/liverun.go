package containers

import (
	"context"
	"errors"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/internal/usage"
	"minikcm.dev/minikcm/kubeletsim/internal/box"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/logs"
	"minikcm.dev/minikcm/kubeletsim/internal/memfs"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
	"minikcm.dev/minikcm/kubeletsim/internal/script"
)

// liveRun is the process of a container whose command is not predictable. Package box runs it
// from the container's start until its end, on the container's files, which exec sees too, and
// on the cluster's clock. If it has run a program of which nothing is known, the container continues
// after it as one with an unknown command.
type liveRun struct {
	// id is the container ID of the run.
	id     string
	main   *box.Main
	log    *logs.Buffer
	cancel context.CancelFunc
	// settled is opened when the process first lets time pass, or has ended.
	settled inflight.Latch
	// silent means that there is no process: commands in the container write to the log.
	silent bool
	// files are the container's; nil before the process starts.
	files *memfs.View
}

// SyncProcesses starts the processes of containers that have started by state, and ends the processes
// of containers that have ended. They end with ctx at the latest. First, it reads the sources that
// a container sees, until its end, as they were at its start.
func (rt *Runtime) SyncProcesses(ctx context.Context, n *nodes.Node, e Pod, pod *corev1.Pod, state *lifecycle.State) {
	rt.keepBeginnings(ctx, n, e, pod, state)
	files := e.Files()
	for i := range state.Containers {
		c := &state.Containers[i]
		if !c.Live && !files.hasRuns() {
			continue
		}
		id := lifecycle.ContainerID(podspec.RuntimeUID(pod), c.Name, c.Restarts)
		if c.Phase != lifecycle.Running || !c.Live && !files.isSilent(c.Name, id) {
			id = ""
		}
		if files.keepRun(c.Name, id) {
			continue
		}
		for _, ref := range podspec.Containers(pod) {
			if ref.Name == c.Name {
				rt.beginRun(ctx, &Ref{runtime: rt, node: n, entry: e, pod: pod, spec: ref.Container, id: id})
			}
		}
	}
}

// keepRun ends the container's process unless it belongs to the run with the ID. It reports
// whether no process has to be started.
func (f *Files) keepRun(name, id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	runs := f.runs[name]
	if len(runs) > 0 {
		last := runs[len(runs)-1]
		if last.id == id {
			return true
		}
		last.cancel()
	}
	return id == ""
}

// keepRuns is the number of runs of a container whose logs are kept.
const keepRuns = 2

func (f *Files) addRun(name string, run *liveRun) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keep(name, run)
}

// keep requires the lock.
func (f *Files) keep(name string, run *liveRun) {
	if f.runs == nil {
		f.runs = map[string][]*liveRun{}
	}
	runs := append(f.runs[name], run)
	f.runs[name] = runs[max(0, len(runs)-keepRuns):]
}

// run returns the run with the ID; nil if it has no process.
func (f *Files) run(name, id string) *liveRun {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, run := range f.runs[name] {
		if run.id == id {
			return run
		}
	}
	return nil
}

// begun returns when the process of a run of a container, if it has one, first lets time pass or has ended, or with the cause of ctx's
// end: so what a probe finds at the instant of a start does not depend on which of both is faster.
func (f *Files) begun(ctx context.Context, name, id string) error {
	if run := f.run(name, id); run != nil && !run.silent {
		return run.settled.Wait(ctx)
	}
	return context.Cause(ctx)
}

// Signal sends a signal to the container's process.
func (f *Files) Signal(name, signal string) {
	f.mu.Lock()
	runs := f.runs[name]
	f.mu.Unlock()
	if len(runs) > 0 {
		runs[len(runs)-1].main.Send(signal)
	}
}

// beginRun starts the container's process. The ledger counts it from now on.
func (rt *Runtime) beginRun(ctx context.Context, in *Ref) {
	ctx, cancel := context.WithCancel(ctx)
	run := &liveRun{id: in.id, cancel: cancel, log: logs.NewBuffer(rt.opts.Clock.Now)}
	run.main = &box.Main{
		Paused: run.settled.Open,
		Ended:  func(code int, err error) { in.runEnded(ctx, run, code, err) },
		Lost:   func() { in.note(lifecycle.Spinning) },
		Traps: func(any bool) {
			if any {
				in.note(lifecycle.TrapsSet)
			} else {
				in.note(lifecycle.TrapsCleared)
			}
		},
	}
	in.entry.Files().addRun(in.spec.Name, run)
	started := rt.processes.Go(func(work *inflight.Work) {
		defer cancel()
		defer run.log.End()
		defer run.settled.Open()
		run.main.Work = work
		in.live(inflight.With(inflight.Alone(ctx), work), run)
	})
	if !started {
		cancel()
	}
}

// machineRetry is the delay between attempts to make a machine.
const machineRetry = 10 * time.Second

// live runs the process to its end.
func (in *Ref) live(ctx context.Context, run *liveRun) {
	machine, volumes, err := in.machine(ctx)
	for err != nil {
		in.runtime.opts.Logger.Error(err, "Cannot make what a container needs, will retry", "pod", in.pod.Namespace+"/"+in.pod.Name, "container", in.spec.Name)
		if inflight.Sleep(ctx, in.runtime.opts.Clock, machineRetry) != nil {
			return
		}
		machine, volumes, err = in.machine(ctx)
	}
	defer volumes.release()
	in.keepFresh(ctx, machine.Files, volumes)
	machine.Main, machine.Lasts, machine.Seed, run.files = run.main, in.lasts(), in.seed(""), machine.Files
	_, _ = machine.Run(ctx, in.command(machine.Env), box.Streams{
		Out: run.log.Writer(corev1.LogStreamStdout), Err: run.log.Writer(corev1.LogStreamStderr), TTY: in.spec.TTY,
	}) // Main gets the result
}

// runEnded reports the end of the process to the pod's worker.
func (in *Ref) runEnded(ctx context.Context, run *liveRun, code int, err error) {
	var notStarted *box.NotStartedError
	switch {
	case ctx.Err() != nil:
	case errors.As(err, &notStarted), errors.Is(err, box.ErrAssumed):
		in.note(lifecycle.Lost)
	case errors.Is(err, box.ErrOutOfMemory):
		in.entry.Occur(lifecycle.Occurrence{Container: in.spec.Name, Run: in.id, ExitCode: lifecycle.ExitKilled, Reason: usage.ReasonOOMKilled})
	case err != nil:
		in.runtime.opts.Logger.Error(err, "A container's command is not followed any more", "pod", in.pod.Namespace+"/"+in.pod.Name, "container", in.spec.Name)
		in.note(lifecycle.Lost)
	default:
		in.entry.Occur(lifecycle.Occurrence{Container: in.spec.Name, Run: in.id, ExitCode: int32(code & 0xff), Message: in.terminationMessage(run, code)}) // a byte
	}
}

func (in *Ref) note(kind lifecycle.OccurrenceKind) {
	in.entry.Occur(lifecycle.Occurrence{Container: in.spec.Name, Run: in.id, Kind: kind})
}

// output returns what keeps the output of the container's process, for commands that write there
// (/proc/1/fd/1 and 2). It is nil if the output follows from the pod.
func (in *Ref) output(fd string) io.Writer {
	stream := map[string]script.Stream{"1": corev1.LogStreamStdout, "2": corev1.LogStreamStderr}[fd]
	if stream == "" {
		return nil
	}
	files := in.entry.Files()
	if run := files.run(in.spec.Name, in.id); run != nil {
		return run.log.Writer(stream)
	}
	program := script.ProgramOf(in.pod, in.spec)
	program.ID = in.id
	if _, annotated := in.annotatedLog(); annotated {
		return nil
	}
	if _, _, understood := program.Predict(); understood {
		return nil
	}
	return files.silentRun(in.spec.Name, in.id, in.runtime.opts.Clock.Now).log.Writer(stream)
}

// silentRun returns the run with the ID of a container whose command is not known: it has a log
// and no process.
func (f *Files) silentRun(name, id string, now func() time.Time) *liveRun {
	log := logs.NewBuffer(now)
	run := &liveRun{id: id, silent: true, cancel: log.End, main: &box.Main{}, log: log}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, known := range f.runs[name] {
		if known.id == id {
			return known
		}
	}
	f.keep(name, run)
	return run
}

// isSilent reports whether the run with the ID is a silent one.
func (f *Files) isSilent(name, id string) bool {
	run := f.run(name, id)
	return run != nil && run.silent
}

// hasRuns reports whether any container has or had a run with a log of its own.
func (f *Files) hasRuns() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runs != nil
}

// command returns the command line of the container's process, with variables expanded.
func (in *Ref) command(env []string) []string {
	g := podspec.VariablesOf(env)
	var words []string
	for _, word := range podspec.CommandLine(in.spec.Command, in.spec.Args) {
		expanded, _ := g.Expand(word)
		words = append(words, expanded)
	}
	return words
}
