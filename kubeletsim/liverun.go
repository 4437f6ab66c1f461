package kubeletsim

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/clock/inflight"
	"minikcm.dev/minikcm/kubeletsim/box"
	"minikcm.dev/minikcm/kubeletsim/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/nodes"
	"minikcm.dev/minikcm/kubeletsim/podspec"
)

// liveRun is the process of a container whose command cannot be understood ahead of
// time, since it looks at files or at what only the cluster knows. It is run (package
// box) on the container's files, which commands of exec see too, and on the cluster's
// clock, from the container's start until its end. Where it starts a program that is not
// there, the container goes on as one of which nothing is known.
type liveRun struct {
	// id names the run.
	id     string
	main   *box.Main
	tape   *tape
	cancel context.CancelFunc
}

// tend begins the processes of containers that have begun, and ends those of containers
// that have ended. They end with ctx at the latest.
func (k *Kubelet) tend(ctx context.Context, n *nodes.Node, e *podEntry, pod *corev1.Pod) {
	for i := range e.state.Containers {
		c := &e.state.Containers[i]
		if !c.Live && e.files.runs == nil {
			continue
		}
		id := ""
		if c.Live && c.Phase == lifecycle.Running {
			id = lifecycle.ContainerID(pod.UID, c.Name, c.Restarts)
		}
		if e.files.keepRun(c.Name, id) {
			continue
		}
		for _, ref := range podspec.Containers(pod) {
			if ref.Name == c.Name {
				k.beginRun(ctx, &place{kubelet: k, node: n, entry: e, pod: pod, spec: ref.Container, id: id})
			}
		}
	}
}

// keepRun ends the container's process unless it is that of the run with the ID. It
// reports whether there is none to begin.
func (f *podFiles) keepRun(name, id string) bool {
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

// keepRuns is of how many runs of a container there is a log.
const keepRuns = 2

func (f *podFiles) addRun(name string, run *liveRun) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.runs == nil {
		f.runs = map[string][]*liveRun{}
	}
	runs := append(f.runs[name], run)
	f.runs[name] = runs[max(0, len(runs)-keepRuns):]
}

// run finds a run by its ID; nil if it had no process of its own.
func (f *podFiles) run(name, id string) *liveRun {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, run := range f.runs[name] {
		if run.id == id {
			return run
		}
	}
	return nil
}

// signal is sent to the container's process.
func (f *podFiles) signal(name, signal string) {
	f.mu.Lock()
	runs := f.runs[name]
	f.mu.Unlock()
	if len(runs) > 0 {
		runs[len(runs)-1].main.Send(signal)
	}
}

// beginRun begins the container's process. The ledger counts it from now on.
func (k *Kubelet) beginRun(ctx context.Context, in *place) {
	ctx, cancel := context.WithCancel(ctx)
	run := &liveRun{id: in.id, cancel: cancel, tape: newTape(k.opts.Clock.Now)}
	run.main = &box.Main{
		Ended: func(code int, err error) { in.runEnded(ctx, code, err) },
		Lost: func(spins bool) {
			if spins {
				in.note(lifecycle.Spinning)
			} else {
				in.note(lifecycle.Lost)
			}
		},
		Traps: func(any bool) {
			if any {
				in.note(lifecycle.TrapsSet)
			} else {
				in.note(lifecycle.TrapsCleared)
			}
		},
	}
	in.entry.files.addRun(in.spec.Name, run)
	started := k.crew.Go(func(work *inflight.Work) {
		defer cancel()
		defer run.tape.end()
		run.main.Work = work
		in.live(inflight.With(inflight.Alone(ctx), work), run)
	})
	if !started {
		cancel()
	}
}

// live runs the process to its end.
func (in *place) live(ctx context.Context, run *liveRun) {
	machine, release, err := in.machine(ctx)
	for err != nil {
		in.kubelet.opts.Logger.Error(err, "Cannot make what a container needs, will retry", "pod", in.pod.Namespace+"/"+in.pod.Name, "container", in.spec.Name)
		if inflight.Sleep(ctx, in.kubelet.opts.Clock, lastRetry) != nil {
			return
		}
		machine, release, err = in.machine(ctx)
	}
	defer release()
	machine.Main = run.main
	_, _ = machine.Run(ctx, in.command(machine.Env), box.Streams{
		Out: run.tape.writer(corev1.LogStreamStdout), Err: run.tape.writer(corev1.LogStreamStderr), TTY: in.spec.TTY,
	}) // what comes of it, main is told
}

// runEnded tells the pod's worker how its process ended.
func (in *place) runEnded(ctx context.Context, code int, err error) {
	var notStarted *box.NotStartedError
	switch {
	case ctx.Err() != nil:
	case errors.As(err, &notStarted):
		in.note(lifecycle.Lost)
	case err != nil:
		in.kubelet.opts.Logger.Error(err, "A container's command is not followed any more", "pod", in.pod.Namespace+"/"+in.pod.Name, "container", in.spec.Name)
		in.note(lifecycle.Lost)
	default:
		in.tell(lifecycle.Occurrence{Container: in.spec.Name, Run: in.id, ExitCode: int32(code & 0xff)}) // a byte
	}
}

func (in *place) note(kind lifecycle.OccurrenceKind) {
	in.tell(lifecycle.Occurrence{Container: in.spec.Name, Run: in.id, Kind: kind})
}

func (in *place) tell(f lifecycle.Occurrence) {
	in.entry.hit(f)
	in.kubelet.loop.Add(podKey(string(in.pod.UID)))
}

// command is what the container's process is started with.
func (in *place) command(env []string) []string {
	g := podspec.VariablesOf(env)
	var words []string
	for _, word := range podspec.CommandLine(in.spec.Command, in.spec.Args) {
		expanded, _ := g.Expand(word)
		words = append(words, expanded)
	}
	return words
}
