package containers

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/box"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/listeners"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
	"minikcm.dev/minikcm/kubeletsim/internal/responses"
	"minikcm.dev/minikcm/kubeletsim/internal/servers"
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
				in.probeFile(ctx, ref, probe, answer)
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

// probeServer sends an HTTP probe to a server that is described. of returns why an answer with a status is a failure; empty if it is none.
func (in *Ref) probeServer(ctx context.Context, at *listeners.Server, port int32, get *corev1.HTTPGetAction, timeout time.Duration, of func(status int) string, found answers) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer := found.once()
	server, err := in.runtime.Running(in.node, in.entry, at.Container)
	if err != nil {
		answer(lifecycle.ProbeSkipped, "")
		return
	}
	address, _ := netip.ParseAddr(first(in.podIPs()))
	target := netip.AddrPortFrom(address, uint16(port))
	link := fmt.Sprintf("Get %q: ", lifecycle.ProbeURL(get, address.String(), port))
	if at.Files != nil && server.isBare(ctx, at.Files) {
		answer(lifecycle.ProbeFailed, link+"remote error: tls: internal error")
		return
	}
	defer in.after(timeout, func() {
		answer(lifecycle.ProbeFailed, link+"context deadline exceeded (Client.Timeout exceeded while awaiting headers)")
		cancel()
	})()
	w := &recorded{}
	server.serveDescribed(at.Described, &reach.Path{Pod: server.pod, Listener: &at.Listener, Target: target}, w, in.probeRequest(ctx, target, get))
	why := of(w.status)
	if w.failure != nil {
		why = link + w.failure.Error()
	}
	switch {
	case ctx.Err() != nil:
		answer(lifecycle.ProbeSkipped, "") // the timer, if it has fired, has answered
	case why == "":
		answer(lifecycle.ProbeSucceeded, "")
	default:
		answer(lifecycle.ProbeFailed, why)
	}
}

// probeRequest returns the request of a probe, which comes from the container's node.
func (in *Ref) probeRequest(ctx context.Context, target netip.AddrPort, get *corev1.HTTPGetAction) *http.Request {
	q := servers.ProbeRequest(get)
	u, err := url.ParseRequestURI(q.URI)
	if err != nil {
		u = &url.URL{Path: q.Path}
	}
	r := &http.Request{Method: q.Method, URL: u, Host: cmp.Or(q.Host, target.String()), Header: http.Header{}, Body: http.NoBody}
	for name, value := range q.Headers {
		r.Header.Set(name, value)
	}
	if node, err := netip.ParseAddr(first(in.node.HostIPs())); err == nil {
		r.RemoteAddr = netip.AddrPortFrom(node, probePort).String()
	}
	return r.WithContext(ctx)
}

// probePort is the port that probes come from.
const probePort = 40000

// probeFile serves an HTTP probe whose result depends on files of the container that listens on its port: those that it serves, or its
// certificate, which kubelets do not verify.
func (in *Ref) probeFile(ctx context.Context, ref podspec.Container, probe *corev1.Probe, found answers) {
	shown := in.entry.See()
	if probe.GRPC != nil {
		if at, _, _ := listeners.OfProbe(shown.Pod, shown.runs, ref, intstr.FromInt32(probe.GRPC.Port)); at != nil && at.Described != nil {
			in.probeHealth(ctx, at, probe.GRPC, timeoutOf(probe), found)
			return
		}
		found(lifecycle.ProbeSkipped, "")
		return
	}
	at, port, _ := listeners.OfProbe(shown.Pod, shown.runs, ref, probe.HTTPGet.Port)
	if at == nil {
		found(lifecycle.ProbeSkipped, "")
		return
	}
	if at.Described != nil {
		in.probeServer(ctx, at, port, probe.HTTPGet, timeoutOf(probe), responses.HTTPFailure, found)
		return
	}
	path := responses.ProbePath(probe.HTTPGet)
	answer := responses.HTTPTo(at.HTTP, port, path)
	status, why := answer.Status, ""
	server, err := in.runtime.Running(in.node, in.entry, at.Container)
	if err == nil && at.Files != nil && server.isBare(ctx, at.Files) {
		why = fmt.Sprintf("Get %q: remote error: tls: internal error", lifecycle.ProbeURL(probe.HTTPGet, first(in.podIPs()), port))
	}
	if err == nil && why == "" && answer.Root != "" {
		status, _, err = server.serveFile(ctx, answer, path)
	}
	why = cmp.Or(why, responses.HTTPFailure(status))
	switch {
	case err != nil:
		found(lifecycle.ProbeSkipped, "")
	case why == "":
		found(lifecycle.ProbeSucceeded, "")
	default:
		found(lifecycle.ProbeFailed, why)
	}
}
