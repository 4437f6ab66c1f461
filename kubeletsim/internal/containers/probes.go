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

// RunProbes runs the probes that are due and reports their results to the pod's worker. The
// ledger counts them. If work takes turns, a probe waits until the commands that run in containers
// at this instant have ended or sleep: what it finds does not depend on the speed of goroutines.
func (rt *Runtime) RunProbes(ctx context.Context, n *nodes.Node, e Pod, pod *corev1.Pod, state *lifecycle.State, questions []lifecycle.ProbeRequest) {
	for _, q := range questions {
		ref := podspec.Containers(pod)[q.Container]
		c := &state.Containers[q.Container]
		in := &Ref{runtime: rt, node: n, entry: e, pod: pod, spec: ref.Container, id: lifecycle.ContainerID(podspec.RuntimeUID(pod), c.Name, c.Restarts)}
		key := pod.Namespace + "/" + pod.Name + "/" + c.Name + "/" + q.Kind.String()
		rt.processes.GoInTurn(ctx, "probe", key, func(work *inflight.Work) {
			ctx := inflight.With(inflight.Alone(ctx), work)
			probe := q.Kind.Of(ref.Container)
			address := lifecycle.ProbedAddress(pod, ref, probe)
			switch {
			case probe.Exec != nil:
				in.probeCommand(ctx, work, q.Kind, probe)
			case address != "":
				in.probeOut(ctx, address, q.Kind, probe)
			default:
				in.probeFile(ctx, ref, q.Kind, probe)
			}
		})
	}
}

func (in *Ref) probeAnswered(kind lifecycle.ProbeKind, answer lifecycle.OccurrenceKind, why string) {
	in.entry.Occur(lifecycle.Occurrence{Container: in.spec.Name, Run: in.id, Probe: kind, Kind: answer, Message: why})
}

// maxProbeOutput bounds the command output in the event, in bytes.
const maxProbeOutput = 10 << 10

// probeCommand runs a probe's command in the container. A command that cannot be simulated
// succeeds; the result of one that is known not to exist is thrown away.
func (in *Ref) probeCommand(ctx context.Context, work *inflight.Work, kind lifecycle.ProbeKind, probe *corev1.Probe) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	machine, release, err := in.runtime.machineFor(ctx, in)
	if err != nil {
		in.probeAnswered(kind, lifecycle.ProbeSkipped, "")
		return
	}
	defer release()
	var once sync.Once
	answer := func(answer lifecycle.OccurrenceKind, why string) {
		once.Do(func() { in.probeAnswered(kind, answer, why) })
	}
	timeout := time.Duration(max(probe.TimeoutSeconds, 1)) * time.Second
	timer := in.runtime.opts.Clock.AfterFunc(timeout, func() {
		answer(lifecycle.ProbeFailed, fmt.Sprintf("command timed out: %q timed out after %s", strings.Join(probe.Exec.Command, " "), timeout))
		cancel()
	})
	defer timer.Stop()
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
	_, _ = own.Run(ctx, probe.Exec.Command, box.Streams{Out: &out, Err: &out}) // Ended gets the result
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

// probeServer sends an HTTP probe to a server that is described.
func (in *Ref) probeServer(ctx context.Context, at *listeners.Server, port int32, kind lifecycle.ProbeKind, probe *corev1.Probe) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var once sync.Once
	answer := func(answer lifecycle.OccurrenceKind, why string) {
		once.Do(func() { in.probeAnswered(kind, answer, why) })
	}
	server, err := in.runtime.Running(in.node, in.entry, at.Container)
	if err != nil {
		answer(lifecycle.ProbeSkipped, "")
		return
	}
	address, _ := netip.ParseAddr(first(in.podIPs()))
	target := netip.AddrPortFrom(address, uint16(port))
	link := fmt.Sprintf("Get %q: ", lifecycle.ProbeURL(probe.HTTPGet, address.String(), port))
	if at.Files != nil {
		if server.isBare(ctx, at.Files) {
			answer(lifecycle.ProbeFailed, link+"remote error: tls: internal error")
			return
		}
	}
	timeout := time.Duration(max(probe.TimeoutSeconds, 1)) * time.Second
	timer := in.runtime.opts.Clock.AfterFunc(timeout, func() {
		answer(lifecycle.ProbeFailed, link+"context deadline exceeded (Client.Timeout exceeded while awaiting headers)")
		cancel()
	})
	defer timer.Stop()
	w := &recorded{}
	server.serveDescribed(at.Described, &reach.Path{Pod: server.pod, Listener: &at.Listener, Target: target}, w, in.probeRequest(ctx, target, probe.HTTPGet))
	why := responses.HTTPFailure(w.status)
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
func (in *Ref) probeFile(ctx context.Context, ref podspec.Container, kind lifecycle.ProbeKind, probe *corev1.Probe) {
	shown := in.entry.See()
	at, port, _ := listeners.OfProbe(shown.Pod, shown.runs, ref, probe.HTTPGet.Port)
	if at == nil {
		in.probeAnswered(kind, lifecycle.ProbeSkipped, "")
		return
	}
	if at.Described != nil {
		in.probeServer(ctx, at, port, kind, probe)
		return
	}
	path := responses.ProbePath(probe.HTTPGet)
	answer := responses.HTTPTo(at.HTTP, port, path)
	status, why := answer.Status, ""
	server, err := in.runtime.Running(in.node, in.entry, at.Container)
	if err == nil && at.Files != nil {
		if server.isBare(ctx, at.Files) {
			why = fmt.Sprintf("Get %q: remote error: tls: internal error", lifecycle.ProbeURL(probe.HTTPGet, first(in.podIPs()), port))
		}
	}
	if err == nil && why == "" && answer.Root != "" {
		status, _, err = server.serveFile(ctx, answer, path)
	}
	why = cmp.Or(why, responses.HTTPFailure(status))
	switch {
	case err != nil:
		in.probeAnswered(kind, lifecycle.ProbeSkipped, "")
	case why == "":
		in.probeAnswered(kind, lifecycle.ProbeSucceeded, "")
	default:
		in.probeAnswered(kind, lifecycle.ProbeFailed, why)
	}
}
