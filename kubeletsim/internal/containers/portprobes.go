package containers

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/box"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/listeners"
	"minikcm.dev/minikcm/kubeletsim/internal/responses"
	"minikcm.dev/minikcm/kubeletsim/internal/servers"
)

// probed is the destination of a probe or a hook.
type probed struct {
	// at is a server of which something is declared, and socket a program of a container; nil: there is none.
	at     *listeners.Server
	socket *box.Socket
	port   int32
	// refused means that nothing listens there. Otherwise, without at and socket, something is assumed to answer.
	refused bool
}

// reaches finds the destination of a probe or a hook at a port.
func (in *Ref) reaches(ref podspec.Container, port intstr.IntOrString) (to probed) {
	shown := in.entry.See()
	to.at, to.port, to.refused = listeners.OfProbe(shown.Pod, shown.runs, ref, port)
	f := in.entry.Files()
	f.mu.Lock()
	to.socket = f.socketAt(&shown, socketKey{to.port, corev1.ProtocolTCP})
	f.mu.Unlock()
	switch {
	case to.socket != nil:
		to.at, to.refused = nil, false
		return to
	case to.refused:
		return to
	case to.at == nil && f.listensToNothingElse(&shown, ref.Name):
		to.at = listeners.Of(shown.Pod, shown.runs, to.port, corev1.ProtocolTCP) // it may be another container's
		to.refused = to.at == nil
	}
	if to.at != nil && to.at.Unknown {
		to.refused = f.listensToNothingElse(&shown, to.at.Container)
		to.at = nil
	}
	return to
}

// listensToNothingElse reports whether a container listens on no port but those on which its simulated programs do: its process has
// listened, or all that it has done up to now is known.
func (f *Files) listensToNothingElse(shown *Shown, name string) bool {
	run := shown.RunOf(name)
	f.mu.Lock()
	listened := run != "" && f.listened[name] == run
	f.mu.Unlock()
	for i := range shown.State.Containers {
		c := &shown.State.Containers[i]
		if c.Name != name || run == "" {
			continue
		}
		if assumed := f.assumptionsOf(name, run); listened || c.Quiet || c.Live && (assumed == nil || len(assumed.from(0)) == 0) {
			return true
		}
	}
	return false
}

// address returns the address of the pod, for messages as for connections.
func (in *Ref) address() netip.Addr {
	address, err := netip.ParseAddr(first(in.podIPs()))
	if err != nil {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return address
}

// probePort probes a port of the container, when its process has begun.
func (in *Ref) probePort(ctx context.Context, ref podspec.Container, probe *corev1.Probe, found answers) {
	if in.entry.Files().begun(ctx, ref.Name, in.id) != nil {
		found(lifecycle.ProbeSkipped, "")
		return
	}
	switch {
	case probe.HTTPGet != nil:
		in.get(ctx, in.reaches(ref, probe.HTTPGet.Port), probe.HTTPGet, timeoutOf(probe), responses.HTTPFailure, found)
	case probe.GRPC != nil:
		to := in.reaches(ref, intstr.FromInt32(probe.GRPC.Port))
		switch {
		case to.at != nil && to.at.Described != nil && to.at.Described.Mode == servers.GRPC:
			in.probeHealth(ctx, to.at, probe.GRPC, timeoutOf(probe), found)
		case to.refused, to.socket != nil, to.at != nil && to.at.Described != nil:
			found(lifecycle.ProbeFailed, responses.GRPCUnreachable(probe, in.address().String()))
		default:
			found(lifecycle.ProbeSucceeded, "")
		}
	case probe.TCPSocket != nil:
		to := in.reaches(ref, probe.TCPSocket.Port)
		if to.refused || to.socket != nil && to.socket.Knock() != nil {
			found(lifecycle.ProbeFailed, lifecycle.Refused(in.address().String(), to.port))
			return
		}
		found(lifecycle.ProbeSucceeded, "")
	}
}

// get sends the request of a probe or a hook. of returns why an answer with a status is a failure; empty if it is none.
func (in *Ref) get(ctx context.Context, to probed, get *corev1.HTTPGetAction, timeout time.Duration, of func(status int) string, found answers) {
	link := fmt.Sprintf("Get %q: ", lifecycle.ProbeURL(get, in.address().String(), to.port))
	if to.refused {
		found(lifecycle.ProbeFailed, link+lifecycle.Refused(in.address().String(), to.port))
		return
	}
	if to.at == nil && to.socket == nil {
		found(lifecycle.ProbeSucceeded, "")
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer := found.once()
	defer in.after(timeout, func() {
		answer(lifecycle.ProbeFailed, link+"context deadline exceeded (Client.Timeout exceeded while awaiting headers)")
		cancel()
	})()
	w := &recorded{}
	err := in.request(ctx, to, get, w)
	why := of(w.status)
	if err = cmp.Or(err, w.failure); err != nil {
		why = link + err.Error()
	}
	switch {
	case ctx.Err() != nil, errors.Is(err, errGone):
		answer(lifecycle.ProbeSkipped, "") // the timer, if it has fired, has answered
	case why == "":
		answer(lifecycle.ProbeSucceeded, "")
	default:
		answer(lifecycle.ProbeFailed, why)
	}
}

// errGone means that a container has ended while it was asked.
var errGone = errors.New("the container does not run any more")

// request asks what a probe or a hook reaches. Kubelets do not verify certificates.
func (in *Ref) request(ctx context.Context, to probed, get *corev1.HTTPGetAction, w *recorded) error {
	target := netip.AddrPortFrom(in.address(), uint16(to.port))
	r, secure := in.probeRequest(ctx, target, get), get.Scheme == corev1.URISchemeHTTPS
	if to.socket != nil {
		if secure {
			return shakeHands(ctx, talkingTo(to.socket, r))
		}
		answerByBytes(talkingTo(to.socket, r), w, r)
		return nil
	}
	server, err := in.runtime.Running(in.node, in.entry, to.at.Container)
	if err != nil {
		return errGone
	}
	if to.at.Files != nil && secure && server.isBare(ctx, to.at.Files) {
		return errors.New("remote error: tls: internal error")
	}
	path := &reach.Path{Pod: server.pod, Listener: &to.at.Listener, Target: target, Protocol: corev1.ProtocolTCP}
	switch l := to.at.Described; {
	case l == nil:
		server.serveHTTP(w, r, responses.HTTPTo(to.at.HTTP, to.port, r.URL.Path))
	case l.SpeaksHTTP():
		server.serveDescribed(l, path, w, r)
	case to.at.Files != nil && !secure:
		return errClosed
	case to.at.Files == nil && secure:
		return shakeHands(ctx, server.conversation(l, path, r.RemoteAddr))
	default:
		answerByBytes(server.conversation(l, path, r.RemoteAddr), w, r)
	}
	return nil
}

// hello is the first part of a TLS client's greeting: enough to see that its receiver does not speak TLS.
const hello = "\x16\x03\x01\x00\x2d\x01\x00\x00\x29\x03\x03"

// shakeHands returns the error of a TLS client that connects to a program which does not speak TLS, in the words of Go's client.
func shakeHands(ctx context.Context, converse conversation) error {
	answer, err := converse(ctx, []byte(hello))
	if err != nil {
		return err
	}
	defer answer.Close()
	begin, _ := bufio.NewReader(answer).Peek(len("HTTP/")) // an answer that ends before is no handshake either
	switch {
	case string(begin) == "HTTP/":
		return http.ErrSchemeMismatch
	case len(begin) == 0:
		return errClosed
	}
	return tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}
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
