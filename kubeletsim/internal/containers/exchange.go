package containers

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
	"minikcm.dev/minikcm/kubeletsim/internal/servers"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// recorded keeps an answer.
type recorded struct {
	header  http.Header
	status  int
	body    bytes.Buffer
	failure error
	isOpen  bool
}

func (r *recorded) Header() http.Header {
	if r.header == nil {
		r.header = http.Header{}
	}
	return r.header
}

// WriteHeader implements http.ResponseWriter.
func (r *recorded) WriteHeader(status int) { r.status = cmp.Or(r.status, status) }

// Write implements http.ResponseWriter.
func (r *recorded) Write(data []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(data)
}

// Abort implements aborter.
func (r *recorded) Abort(reset bool) {
	r.failure = errClosed
	if reset {
		r.failure = syscall.ECONNRESET
	}
}

// Garbled implements garbler.
func (r *recorded) Garbled(all io.Reader) {
	answer, err := http.ReadResponse(bufio.NewReader(all), nil)
	if err == nil {
		_ = answer.Body.Close() // it is not read: what is no answer is never parsed
	}
	r.failure = fmt.Errorf("net/http: HTTP/1.x transport connection broken: %w", err)
}

// Unsure implements unsure.
func (r *recorded) Unsure() { r.isOpen = true }

// errClosed means that a server has closed the connection.
var errClosed = errors.New("EOF")

// Exchange returns what a listener of a pod that speaks no HTTP answers to data: an echo the same, others an answer to each line or
// datagram.
func (rt *Runtime) Exchange(ctx context.Context, n *nodes.Node, e Pod, path *reach.Path, peer netip.AddrPort, data []byte) ([]byte, error) {
	shown := e.See() // the answers may have changed since the connection was made
	at, socket := listening(e, &shown, int32(path.Target.Port()), path.Protocol)
	if socket != nil {
		answer, err := socket.Converse(ctx, peer, data)
		if err != nil {
			return nil, err
		}
		defer answer.Close()
		return io.ReadAll(&capped{answer, maxExchange})
	}
	in, err := rt.Running(n, e, path.Listener.Container)
	if err != nil || at == nil || at.Described == nil || at.Described.Mode == servers.GRPC || len(data) == 0 {
		return nil, nil // it does not listen any more, and sends nothing
	}
	return in.exchange(ctx, at.Described, path, peer.String(), data)
}

// conversation is Exchange over a connection of TCP for a client that has to understand the answer: it ends where that is unknown.
func (in *Ref) conversation(l *servers.Listener, path *reach.Path, peer string) conversation {
	return func(ctx context.Context, data []byte) (io.ReadCloser, error) {
		answer, err := in.exchange(ctx, l, path, peer, data)
		answer, _, _ = bytes.Cut(answer, []byte(unknown.Text))
		return io.NopCloser(bytes.NewReader(answer)), err
	}
}

// exchange returns what a described listener answers to data.
func (in *Ref) exchange(ctx context.Context, l *servers.Listener, path *reach.Path, peer string, data []byte) ([]byte, error) {
	if l.Mode == servers.Echo {
		return data, nil
	}
	messages := strings.SplitAfter(string(data), "\n")
	if path.Protocol != corev1.ProtocolTCP {
		messages = []string{string(data)}
	}
	var answers []byte
	for _, message := range messages {
		if message == "" {
			continue
		}
		r := (&http.Request{Method: "", URL: &url.URL{}, Body: http.NoBody, RemoteAddr: peer}).WithContext(ctx)
		r.Body = body{strings.NewReader(strings.TrimRight(message, "\r\n"))}
		w := &recorded{}
		in.serveDescribed(l, path, w, r)
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		answers = append(answers, w.body.Bytes()...)
		switch {
		case errors.Is(w.failure, errClosed):
			return answers, nil
		case w.failure != nil:
			return nil, w.failure
		case w.isOpen:
			answers = append(answers, unknown.Line...)
		}
		if len(answers) > maxExchange {
			return answers, nil
		}
	}
	return answers, nil
}

// maxExchange caps the bytes of the answers to the data of one connection.
const maxExchange = 4 << 20

// body is a body in memory.
type body struct{ *strings.Reader }

// Close implements io.Closer.
func (body) Close() error { return nil }
