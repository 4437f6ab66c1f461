package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/inflight"
)

// Options configure New. Handler is required, and so is User unless Outside is set.
type Options struct {
	Handler http.Handler
	// Outside means that requests are handled as those that come from the network: with the credentials in them, and without the values
	// of their contexts.
	Outside bool
	// User is the user whose requests the transport carries; the handler finds it with
	// auth.FromContext.
	User *auth.User
	// Part marks the client as a part of the cluster, which other clients do not see through.
	Part bool
	// ActAs lets the context of a request replace User (WithActor).
	ActAs bool
	// Ledger counts the unread bytes of streams; nil counts nothing.
	Ledger *clock.Ledger
	// IsUncounted reports whether streams of a path are not counted either; nil: all are.
	IsUncounted func(path string) bool
	// MaxBodyBytes limits the body of a request whose response is a stream, which is read
	// into memory. The handler gets one byte more, so that it can reject a longer body.
	MaxBodyBytes int64
}

// Transport is a RoundTripper for one user. It is safe for concurrent use.
type Transport struct{ opts Options }

// New returns a RoundTripper that passes requests to the handler without encoding them.
func New(opts Options) *Transport { return &Transport{opts: opts} }

type localKey struct{}

type actorKey struct{}

// WithActor returns a context whose requests are made by user if the Transport allows it
// (Options.ActAs), so that one client can act for many users. A request over a socket has no
// such context.
func WithActor(ctx context.Context, user *auth.User) context.Context {
	return context.WithValue(ctx, actorKey{}, user)
}

// IsActor reports whether a request came through a Transport by a user of WithActor.
func IsActor(ctx context.Context) bool {
	came, _ := ctx.Value(localKey{}).(cameBy)
	return came.actor
}

// IsPart reports whether a request came through a Transport of a part of the cluster.
func IsPart(ctx context.Context) bool {
	came, _ := ctx.Value(localKey{}).(cameBy)
	return came.part
}

// cameBy is how a request came: by the user of WithActor, and by a part.
type cameBy struct{ actor, part bool }

// UserOf returns the user of a request with the context ctx.
func (t *Transport) UserOf(ctx context.Context) *auth.User {
	if user, ok := ctx.Value(actorKey{}).(*auth.User); ok && t.opts.ActAs {
		return user
	}
	return t.opts.User
}

// IsLocal reports whether a request came through a Transport.
func IsLocal(ctx context.Context) bool { return ctx.Value(localKey{}) != nil }

// RoundTrip serves req. A request whose response cannot be a stream is served in the
// caller's goroutine.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close() // the error of closing a request's body does not matter
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	ctx, end := t.context(req.Context())
	if MayStream(req) {
		return t.stream(ctx, end, req)
	}
	defer end()
	w := &memoryResponse{head: head{header: http.Header{}}}
	if err := t.serve(w, t.incoming(ctx, req)); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, clock.ErrTimeout) {
			return nil, cause // the client waits no longer for the response
		}
		if w.code == 0 {
			return nil, err
		}
	}
	return w.response(req), nil
}

// context returns the context of a request, which ends with ctx at the latest, and at end.
func (t *Transport) context(ctx context.Context) (own context.Context, end func()) {
	if !t.opts.Outside {
		user := t.UserOf(ctx)
		came := cameBy{actor: user != t.opts.User, part: t.opts.Part}
		return context.WithValue(auth.WithUser(ctx, user), localKey{}, came), func() {}
	}
	own, cancel := context.WithCancelCause(context.Background())
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	if pauser := inflight.PauserOf(ctx); pauser != nil {
		own = inflight.WithPauser(own, pauser)
	}
	return own, func() { stop(); cancel(nil) }
}

// serve serves a request. The error is io.EOF if the handler has closed the connection, as it may for requests from the network.
func (t *Transport) serve(w http.ResponseWriter, in *http.Request) (err error) {
	defer func() {
		if !t.opts.Outside {
			return
		}
		switch reason := recover(); reason {
		case nil:
		case http.ErrAbortHandler:
			err = io.EOF
		default:
			panic(reason)
		}
	}()
	t.opts.Handler.ServeHTTP(w, in)
	return nil
}

// PassesContext marks a transport whose handlers get the context of a request
// (cause.ContextPasser).
func (t *Transport) PassesContext() {}

// CloseIdleConnections does nothing: there are no connections. client-go calls it.
func (t *Transport) CloseIdleConnections() {}

// MayStream reports whether the response to req may be a stream: a watch or a followed
// log.
func MayStream(req *http.Request) bool {
	query := req.URL.RawQuery
	return strings.Contains(query, "watch") || strings.Contains(query, "follow=") || strings.Contains(req.URL.Path, "/watch/")
}

// incoming returns a client's request as a server receives it.
func (t *Transport) incoming(ctx context.Context, req *http.Request) *http.Request {
	in := req.WithContext(ctx)
	if t.opts.Outside {
		in = req.Clone(ctx) // the handler removes the credentials
	}
	in.RequestURI = req.URL.RequestURI()
	if !t.opts.Outside || in.RemoteAddr == "" {
		in.RemoteAddr = "in-memory"
	}
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
func (t *Transport) stream(ctx context.Context, end func(), req *http.Request) (*http.Response, error) {
	ctx, stopped := context.WithCancel(ctx)
	cancel := func() { stopped(); end() }
	in := t.incoming(ctx, req)
	if in.Body != http.NoBody {
		// The caller closes the body when RoundTrip returns, which is before the
		// handler ends.
		data, err := readAll(in.Body, t.opts.MaxBodyBytes)
		if err != nil {
			cancel()
			return nil, err
		}
		in.Body = data
	}
	ledger := t.opts.Ledger
	if !t.opts.Outside && strings.Contains(req.URL.RawQuery, "follow=") || t.opts.IsUncounted != nil && t.opts.IsUncounted(req.URL.Path) {
		ledger = nil // clients that read logs, and live objects, do not affect the cluster's state; programs in pods do
	}
	w := &streamResponse{
		head:    head{header: http.Header{}},
		started: make(chan struct{}),
		pipe:    newPipe(ledger),
	}
	w.pipe.onClose = cancel
	stop := context.AfterFunc(ctx, func() { w.pipe.abort(context.Cause(ctx)) })
	last := &streamEnd{}
	in = in.WithContext(context.WithValue(ctx, streamEndKey{}, last))
	go func() {
		defer cancel()
		defer last.come()
		defer w.finish()
		defer func() {
			// A client whose context has ended must not mistake a truncated stream for
			// a complete one.
			if err := ctx.Err(); err != nil {
				w.pipe.abort(err)
			}
		}()
		defer stop()
		if err := t.serve(w, in); err != nil {
			w.pipe.abort(err)
		}
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

// AtStreamEnd returns the function that a handler calls at its end: do, or nothing if
// do is called at the end of the stream instead.
func AtStreamEnd(ctx context.Context, do func()) func() {
	end, ok := ctx.Value(streamEndKey{}).(*streamEnd)
	if !ok {
		return do
	}
	end.do = append(end.do, do)
	return func() {}
}

// Ending returns a function to call when a timer ends a streamed response: from then on its end is in flight, until the client has
// seen it. For other responses it does nothing.
func Ending(ctx context.Context, ledger *clock.Ledger) (ends func()) {
	end, ok := ctx.Value(streamEndKey{}).(*streamEnd)
	if !ok {
		return func() {}
	}
	var (
		mu   sync.Mutex
		over bool
		work *inflight.Work
	)
	end.do = append(end.do, func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		work.End()
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if !over && work == nil {
			work = inflight.Begin(ledger, inflight.Event)
		}
	}
}
