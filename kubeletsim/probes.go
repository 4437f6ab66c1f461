package kubeletsim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/clock/inflight"
	"minikcm.dev/minikcm/kubeletsim/box"
)

// asksOutside is whether the answer to a probe depends on more than the pod: on what a
// command finds, or on a file.
func asksOutside(pod *corev1.Pod, ref containerRef, probe *corev1.Probe) bool {
	switch {
	case probe.Exec != nil:
		return runnable(ref.Container, probe.Exec.Command)
	case probe.HTTPGet != nil:
		a, _, ok := probedAnswer(pod, ref, probe.HTTPGet)
		return ok && a.root != ""
	}
	return false
}

// failure is why a probe fails whose answer follows from the pod, as upstream's prober
// says it; empty if it succeeds. Probes of what nothing is told of succeed.
func (s *stepper) failure(ref containerRef, probe *corev1.Probe) string {
	address := "127.0.0.1"
	if s.state.address.IsValid() {
		address = s.state.address.String()
	}
	switch {
	case probe.GRPC != nil:
		return grpcFailure(s.pod, ref, probe, address)
	case probe.TCPSocket != nil:
		answers, told := httpOf(s.pod, ref.Name, ref.kind)
		if port := portNumber(ref.Container, probe.TCPSocket.Port); told && !listens(answers, port) {
			return fmt.Sprintf("dial tcp %s:%d: connect: connection refused", address, port)
		}
	case probe.HTTPGet != nil:
		a, port, told := probedAnswer(s.pod, ref, probe.HTTPGet)
		if told && a.port == 0 {
			return fmt.Sprintf("Get \"http://%s:%d%s\": dial tcp %s:%d: connect: connection refused", address, port, probedPath(probe.HTTPGet), address, port)
		}
		if told {
			return httpFailure(a.status)
		}
	}
	return ""
}

func httpFailure(status int) string {
	if status < http.StatusBadRequest {
		return ""
	}
	return fmt.Sprintf("HTTP probe failed with statuscode: %d", status)
}

func probedPath(get *corev1.HTTPGetAction) string {
	if get.Path == "" {
		return "/"
	}
	path, _, _ := strings.Cut(get.Path, "?")
	return path
}

// probedAnswer is what AnnotationHTTP tells of a probe; its port is 0 if nothing listens
// there. told is false if there is no annotation.
func probedAnswer(pod *corev1.Pod, ref containerRef, get *corev1.HTTPGetAction) (a httpAnswer, port int32, told bool) {
	answers, told := httpOf(pod, ref.Name, ref.kind)
	port = portNumber(ref.Container, get.Port)
	if !told || !listens(answers, port) {
		return httpAnswer{}, port, told
	}
	a = answerTo(answers, port, probedPath(get))
	a.port = port
	return a, port, true
}

// ask asks what is due, and tells the pod's worker the answers. The ledger counts it.
func (k *Kubelet) ask(ctx context.Context, n *node, e *podEntry, pod *corev1.Pod, questions []question) {
	for _, q := range questions {
		ref := containersOf(pod)[q.container]
		c := &e.state.containers[q.container]
		in := &place{kubelet: k, node: n, entry: e, pod: pod, spec: ref.Container, id: containerID(pod.UID, c.name, c.restarts)}
		k.crew.Go(func(work *inflight.Work) {
			ctx := inflight.With(inflight.Alone(ctx), work)
			probe := q.kind.of(ref.Container)
			if probe.Exec != nil {
				in.askCommand(ctx, work, q.kind, probe)
			} else {
				in.askFile(ctx, ref, q.kind, probe)
			}
		})
	}
}

func (in *place) answered(kind probeKind, answer faultKind, why string) {
	in.tell(fault{container: in.spec.Name, run: in.id, probe: kind, kind: answer, message: why})
}

// maxProbeOutput is how much of a command's output is in its event.
const maxProbeOutput = 10 << 10

// askCommand runs a probe's command in the container. One that cannot be followed
// succeeds.
func (in *place) askCommand(ctx context.Context, work *inflight.Work, kind probeKind, probe *corev1.Probe) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	machine, release, err := in.kubelet.machineFor(ctx, in)
	if err != nil {
		in.answered(kind, notProbed, "")
		return
	}
	defer release()
	var once sync.Once
	answer := func(answer faultKind, why string) {
		once.Do(func() { in.answered(kind, answer, why) })
	}
	timeout := time.Duration(max(probe.TimeoutSeconds, 1)) * time.Second
	timer := in.kubelet.opts.Clock.AfterFunc(timeout, func() {
		answer(probeFailed, fmt.Sprintf("command timed out: %q timed out after %s", strings.Join(probe.Exec.Command, " "), timeout))
		cancel()
	})
	defer timer.Stop()
	var out output
	own := *machine
	own.Main = &box.Main{
		Work: work,
		Lost: func(bool) {
			answer(probed, "")
			cancel()
		},
		Ended: func(code int, err error) {
			var notStarted *box.NotStartedError
			switch {
			case errors.As(err, &notStarted) || err == nil && code == 0:
				answer(probed, "")
			case err != nil:
				answer(notProbed, "")
			default:
				answer(probeFailed, out.String())
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
func (in *place) askFile(ctx context.Context, ref containerRef, kind probeKind, probe *corev1.Probe) {
	a, _, _ := probedAnswer(in.pod, ref, probe.HTTPGet)
	status, _, err := in.serveFile(ctx, a, probedPath(probe.HTTPGet))
	why := httpFailure(status)
	switch {
	case err != nil:
		in.answered(kind, notProbed, "")
	case why == "":
		in.answered(kind, probed, "")
	default:
		in.answered(kind, probeFailed, why)
	}
}
