package containers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/box"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// runProbes runs the probes that are due and reports their results to the pod's worker. The
// ledger counts them. If work takes turns, a probe waits until the commands that run in containers
// at this instant have ended or sleep: what it finds does not depend on the speed of goroutines.
func (rt *Runtime) runProbes(ctx context.Context, n *nodes.Node, e Pod, pod *corev1.Pod, state *lifecycle.State, questions []lifecycle.ProbeRequest) {
	for _, q := range questions {
		ref := podspec.Containers(pod)[q.Container]
		c := &state.Containers[q.Container]
		in := &Ref{runtime: rt, node: n, entry: e, pod: pod, spec: ref.Container, id: lifecycle.ContainerID(podspec.RuntimeUID(pod), c.Name, c.Restarts)}
		key := pod.Namespace + "/" + pod.Name + "/" + c.Name + "/" + q.Kind.String()
		answer := in.answersOf(q.Kind)
		rt.processes.GoInTurn(ctx, "probe", key, func(work *inflight.Work) {
			ctx := inflight.With(inflight.Alone(ctx), work)
			probe := q.Kind.Of(ref.Container)
			address := lifecycle.ProbedAddress(pod, ref, probe)
			switch {
			case probe.Exec != nil:
				in.probeCommand(ctx, work, probe.Exec, timeoutOf(probe), answer)
			case address != "":
				in.probeOut(ctx, address, probe, answer)
			default:
				in.probePort(ctx, ref, probe, answer)
			}
		})
	}
}

// answersOf returns the function that reports the result of a probe to the pod's worker.
func (in *Ref) answersOf(kind lifecycle.ProbeKind) answers {
	return func(answer lifecycle.OccurrenceKind, why string) {
		in.entry.Occur(lifecycle.Occurrence{Container: in.spec.Name, Run: in.id, Probe: kind, Kind: answer, Message: why})
	}
}

// maxProbeOutput bounds the command output in the event, in bytes.
const maxProbeOutput = 10 << 10

// probeCommand runs a probe's command in the container. A command that cannot be simulated
// succeeds; the result of one that is known not to exist is thrown away.
func (in *Ref) probeCommand(ctx context.Context, work *inflight.Work, exec *corev1.ExecAction, timeout time.Duration, found answers) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	machine, release, err := in.runtime.machineFor(ctx, in)
	if err != nil {
		found(lifecycle.ProbeSkipped, "")
		return
	}
	defer release()
	answer := found.once()
	defer in.after(timeout, func() {
		answer(lifecycle.ProbeFailed, fmt.Sprintf("command timed out: %q timed out after %s", strings.Join(exec.Command, " "), timeout))
		cancel()
	})()
	var out output
	own := *machine
	own.Main = &box.Main{
		Work: work,
		Lost: func() {
			answer(lifecycle.ProbeSucceeded, "")
			cancel()
		},
		Ended: func(code int, err error) {
			var notStarted *box.NotStartedError
			switch {
			case errors.As(err, &notStarted):
				answer(lifecycle.ProbeSkipped, "rpc error: code = Unknown desc = failed to exec in container: failed to start exec: "+err.Error())
			case errors.Is(err, box.ErrAssumed), err == nil && code == 0:
				answer(lifecycle.ProbeSucceeded, "")
			case err != nil && !errors.Is(err, box.ErrOutOfMemory):
				answer(lifecycle.ProbeSkipped, "")
			default:
				answer(lifecycle.ProbeFailed, out.String())
			}
		},
	}
	_, _ = own.Run(ctx, exec.Command, box.Streams{Out: &out, Err: &out}) // Ended gets the result
}

// output keeps the first maxProbeOutput bytes.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf.Write(p[:min(len(p), maxProbeOutput-o.buf.Len())])
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// answers gets the result of a probe.
type answers func(answer lifecycle.OccurrenceKind, why string)

// once returns a function that passes on its first call.
func (a answers) once() answers {
	var once sync.Once
	return func(answer lifecycle.OccurrenceKind, why string) { once.Do(func() { a(answer, why) }) }
}

// timeoutOf returns the time-out of a probe.
func timeoutOf(probe *corev1.Probe) time.Duration {
	return time.Duration(max(probe.TimeoutSeconds, 1)) * time.Second
}

// after calls a function after some of the cluster's time, unless stop is called before; never if that is 0.
func (in *Ref) after(d time.Duration, do func()) (stop func()) {
	if d == 0 {
		return func() {}
	}
	timer := in.runtime.opts.Clock.AfterFunc(d, do)
	return func() { timer.Stop() }
}
