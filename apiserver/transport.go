package apiserver

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/apiserver/codec"
)

// memoryHost is the host of in-memory requests. client-go requires one; it is never
// resolved.
const memoryHost = "http://in-memory.invalid"

// Config returns the configuration of an in-process client that acts as user, in
// groups: no socket, no throttling. It works with every client of client-go, and the
// caller may change it. The content type is not set, as in configurations read from a
// kubeconfig: controller-runtime then chooses it per type, since custom resources have
// no protobuf encoding.
func (s *Server) Config(user string, groups ...string) *rest.Config {
	identity := &auth.User{Name: user, Groups: append(groups, auth.GroupAuthenticated)}
	return &rest.Config{Host: memoryHost, Transport: s.Transport(identity), QPS: -1}
}

// Protobuf configures config for clients of built-in kinds: they send protobuf, and
// accept JSON where the server has no protobuf. It returns config.
func Protobuf(config *rest.Config) *rest.Config {
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, codec.ProtobufOrJSON
	return config
}

// Transport returns a RoundTripper that passes the requests of user to the handler
// chain without encoding them. A streamed response (a watch) goes through a bounded
// pipe, whose unread bytes the ledger counts as an event in flight.
func (s *Server) Transport(user *auth.User) http.RoundTripper {
	return &memoryTransport{server: s, user: user}
}

type memoryTransport struct {
	server *Server
	user   *auth.User
}

type localKey struct{}

// isLocal reports whether a request came through the in-memory transport.
func isLocal(ctx context.Context) bool { return ctx.Value(localKey{}) != nil }

// RoundTrip serves req. A request whose response cannot be a stream is served in the
// caller's goroutine.
func (t *memoryTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.server.opts.Faults != nil {
		return t.reach(req)
	}
	return t.send(req)
}

func (t *memoryTransport) send(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close() // the error of closing a request's body does not matter
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	ctx := context.WithValue(auth.WithUser(req.Context(), t.user), localKey{}, true)
	if mayStream(req) {
		return t.stream(ctx, req)
	}
	w := &memoryResponse{header: http.Header{}}
	t.server.handler.ServeHTTP(w, incoming(ctx, req))
	if err := ctx.Err(); err != nil && w.code == 0 {
		return nil, err
	}
	return w.response(req), nil
}

// CloseIdleConnections does nothing: there are no connections. client-go calls it.
func (t *memoryTransport) CloseIdleConnections() {}

func mayStream(req *http.Request) bool {
	query := req.URL.RawQuery
	return strings.Contains(query, "watch") || strings.Contains(query, "follow=") || strings.Contains(req.URL.Path, "/watch/")
}

// incoming returns a client's request as a server receives it.
func incoming(ctx context.Context, req *http.Request) *http.Request {
	in := req.WithContext(ctx)
	in.RequestURI = req.URL.RequestURI()
	in.RemoteAddr = "in-memory"
	if in.Header == nil {
		in.Header = http.Header{}
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	return in
}

// stream serves a request in its own goroutine, which ends when the response is
// complete, the client closes the body, or its context ends.
func (t *memoryTransport) stream(ctx context.Context, req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	in := incoming(ctx, req)
	if in.Body != http.NoBody {
		// The caller closes the body when RoundTrip returns, which is before the
		// handler ends.
		data, err := readAll(in.Body)
		if err != nil {
			cancel()
			return nil, err
		}
		in.Body = data
	}
	ledger := t.server.opts.Ledger
	if strings.Contains(req.URL.RawQuery, "follow=") {
		ledger = nil // log readers never affect cluster state, so they are not counted as in flight
	}
	w := &streamResponse{
		memoryResponse: memoryResponse{header: http.Header{}},
		started:        make(chan struct{}),
		pipe:           newPipe(ledger),
	}
	w.pipe.onClose = cancel
	stop := context.AfterFunc(ctx, func() { w.pipe.abort(context.Cause(ctx)) })
	end := &streamEnd{}
	in = in.WithContext(context.WithValue(ctx, streamEndKey{}, end))
	go func() {
		defer cancel()
		defer end.come()
		defer w.finish()
		defer func() {
			// A client whose context has ended must not mistake a truncated stream for
			// a complete one.
			if err := ctx.Err(); err != nil {
				w.pipe.abort(err)
			}
		}()
		defer stop()
		t.server.handler.ServeHTTP(w, in)
	}()
	select {
	case <-w.started:
		return w.streamed(req), nil
	case <-req.Context().Done():
		cancel()
		return nil, req.Context().Err()
	}
}

// streamEnd collects the functions to call when a streamed response has ended. They are
// in flight until the client has seen the end.
type streamEnd struct{ do []func() }

type streamEndKey struct{}

func (e *streamEnd) come() {
	for _, do := range e.do {
		do()
	}
}

// atStreamEnd returns the function that a handler calls at its end: do, or nothing if
// do is called at the end of the stream instead.
func atStreamEnd(ctx context.Context, do func()) func() {
	end, ok := ctx.Value(streamEndKey{}).(*streamEnd)
	if !ok {
		return do
	}
	end.do = append(end.do, do)
	return func() {}
}

// memoryResponse collects a whole response.
type memoryResponse struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (w *memoryResponse) Header() http.Header { return w.header }

func (w *memoryResponse) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
}

func (w *memoryResponse) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

func (w *memoryResponse) response(req *http.Request) *http.Response {
	w.WriteHeader(http.StatusOK)
	resp := newResponse(req, w.code, w.header)
	resp.ContentLength = int64(w.body.Len())
	resp.Body = &bytesBody{*bytes.NewReader(w.body.Bytes())}
	return resp
}

func newResponse(req *http.Request, code int, header http.Header) *http.Response {
	return &http.Response{
		Status: strconv.Itoa(code) + " " + http.StatusText(code), StatusCode: code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, ContentLength: -1, Request: req,
	}
}

// bytesBody is a body in memory.
type bytesBody struct{ bytes.Reader }

func (*bytesBody) Close() error { return nil }

// streamResponse passes a response on as it is flushed.
type streamResponse struct {
	memoryResponse
	// started is closed when the response's headers are final.
	started  chan struct{}
	snapshot http.Header
	pipe     *pipe
}

func (w *streamResponse) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
		w.snapshot = w.header.Clone()
	}
}

func (w *streamResponse) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(p)
}

// Flush publishes the headers; body bytes are visible as they are written.
func (w *streamResponse) Flush() {
	w.WriteHeader(http.StatusOK)
	select {
	case <-w.started:
	default:
		close(w.started)
	}
}

// SetWriteDeadline makes writes that block beyond t fail, as http.ResponseController
// requires of a writer. Zero means no deadline.
func (w *streamResponse) SetWriteDeadline(t time.Time) error {
	w.pipe.setDeadline(t)
	return nil
}

func (w *streamResponse) finish() {
	w.pipe.finish()
	w.Flush()
}

func (w *streamResponse) streamed(req *http.Request) *http.Response {
	resp := newResponse(req, w.code, w.snapshot)
	resp.Body = w.pipe
	return resp
}
