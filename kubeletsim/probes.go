package kubeletsim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/clock/inflight"
	"minikcm.dev/minikcm/kubeletsim/box"
	"minikcm.dev/minikcm/kubeletsim/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/nodes"
	"minikcm.dev/minikcm/kubeletsim/podspec"
	"minikcm.dev/minikcm/kubeletsim/responses"
)

// ask asks what is due, and tells the pod's worker the answers. The ledger counts it.
func (k *Kubelet) ask(ctx context.Context, n *nodes.Node, e *podEntry, pod *corev1.Pod, questions []lifecycle.ProbeRequest) {
	for _, q := range questions {
		ref := podspec.Containers(pod)[q.Container]
		c := &e.state.Containers[q.Container]
		in := &place{kubelet: k, node: n, entry: e, pod: pod, spec: ref.Container, id: lifecycle.ContainerID(pod.UID, c.Name, c.Restarts)}
		k.crew.Go(func(work *inflight.Work) {
			ctx := inflight.With(inflight.Alone(ctx), work)
			probe := q.Kind.Of(ref.Container)
			if probe.Exec != nil {
				in.askCommand(ctx, work, q.Kind, probe)
			} else {
				in.askFile(ctx, ref, q.Kind, probe)
			}
		})
	}
}

func (in *place) answered(kind lifecycle.ProbeKind, answer lifecycle.OccurrenceKind, why string) {
	in.tell(lifecycle.Occurrence{Container: in.spec.Name, Run: in.id, Probe: kind, Kind: answer, Message: why})
}

// maxProbeOutput is how much of a command's output is in its event.
const maxProbeOutput = 10 << 10

// askCommand runs a probe's command in the container. One that cannot be followed
// succeeds.
func (in *place) askCommand(ctx context.Context, work *inflight.Work, kind lifecycle.ProbeKind, probe *corev1.Probe) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	machine, release, err := in.kubelet.machineFor(ctx, in)
	if err != nil {
		in.answered(kind, lifecycle.ProbeSkipped, "")
		return
	}
	defer release()
	var once sync.Once
	answer := func(answer lifecycle.OccurrenceKind, why string) {
		once.Do(func() { in.answered(kind, answer, why) })
	}
	timeout := time.Duration(max(probe.TimeoutSeconds, 1)) * time.Second
	timer := in.kubelet.opts.Clock.AfterFunc(timeout, func() {
		answer(lifecycle.ProbeFailed, fmt.Sprintf("command timed out: %q timed out after %s", strings.Join(probe.Exec.Command, " "), timeout))
		cancel()
	})
	defer timer.Stop()
	var out output
	own := *machine
	own.Main = &box.Main{
		Work: work,
		Lost: func(bool) {
			answer(lifecycle.ProbeSucceeded, "")
			cancel()
		},
		Ended: func(code int, err error) {
			var notStarted *box.NotStartedError
			switch {
			case errors.As(err, &notStarted) || err == nil && code == 0:
				answer(lifecycle.ProbeSucceeded, "")
			case err != nil:
				answer(lifecycle.ProbeSkipped, "")
			default:
				answer(lifecycle.ProbeFailed, out.String())
			}
		},
	}
	_, _ = own.Run(ctx, probe.Exec.Command, box.Streams{Out: &out, Err: &out}) // Ended is told
}

// output keeps the beginning of what is written.
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

// askFile looks for the file that an HTTP probe is for.
func (in *place) askFile(ctx context.Context, ref podspec.Container, kind lifecycle.ProbeKind, probe *corev1.Probe) {
	a, _, _ := responses.ProbedHTTP(in.pod, ref, probe.HTTPGet)
	status, _, err := in.serveFile(ctx, a, responses.ProbePath(probe.HTTPGet))
	why := responses.HTTPFailure(status)
	switch {
	case err != nil:
		in.answered(kind, lifecycle.ProbeSkipped, "")
	case why == "":
		in.answered(kind, lifecycle.ProbeSucceeded, "")
	default:
		in.answered(kind, lifecycle.ProbeFailed, why)
	}
}
