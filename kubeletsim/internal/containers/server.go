package containers

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/kubeletsim/internal/box"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/servers"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

const (
	// maxRequestBody caps the body of a request that a description sees.
	maxRequestBody = 1 << 20
	// maxHops and maxVisits cap how deep calls nest, and how many servers one request visits in all.
	maxHops   = 16
	maxVisits = 256
)

// visit counts the servers that a request has reached, with the calls that follow from it.
type visit struct {
	hops int
	left *atomic.Int64
}

type visitKey struct{}

// visiting counts one more server; not ok if there are too many.
func visiting(ctx context.Context) (_ context.Context, ok bool) {
	v, found := ctx.Value(visitKey{}).(visit)
	if !found {
		v.left = &atomic.Int64{}
		v.left.Store(maxVisits)
	}
	v.hops++
	return context.WithValue(ctx, visitKey{}, v), v.hops <= maxHops && v.left.Add(-1) >= 0
}

// serving is one request to a server that is described.
type serving struct {
	*Ref
	listener *servers.Listener
	path     *reach.Path
	kept     *serverState
	in       *servers.Input
	body     []byte
	// actor acts in the container; nil: the request has not needed it yet.
	actor *box.Actor
	// finish sends the answer, when nothing acts in the container any more.
	finish func(ctx context.Context, w http.ResponseWriter)
}

// serveDescribed answers a request as the container's description says.
func (in *Ref) serveDescribed(l *servers.Listener, at *reach.Path, w http.ResponseWriter, r *http.Request) {
	if l.Mode == servers.GRPC {
		in.serveCall(l, at, w, r)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequestBody+1))
	if err != nil {
		return // the client is gone
	}
	if len(body) > maxRequestBody {
		http.Error(w, "the body is larger than a simulated server reads", http.StatusRequestEntityTooLarge)
		return
	}
	in.serveBody(l, at, w, r, body)
}

// serveBody answers a request whose body has been read.
func (in *Ref) serveBody(l *servers.Listener, at *reach.Path, w http.ResponseWriter, r *http.Request, body []byte) {
	ctx, ok := visiting(r.Context())
	if !ok {
		http.Error(w, "the request has visited too many simulated servers", http.StatusLoopDetected)
		return
	}
	if !inflight.MayPause(ctx) {
		work := inflight.Begin(in.runtime.opts.Ledger, inflight.Request)
		defer work.End()
		ctx = inflight.With(ctx, work)
	}
	s := &serving{Ref: in, listener: l, path: at, body: body, kept: in.entry.Files().server(in.spec.Name, in.id, l.First())}
	s.in = in.serverInput(requestOf(r, body))
	s.in.Request.Port = int64(at.Target.Port())
	s.in.State, s.in.Request.Number = s.kept.enter()
	if err := s.run(ctx); err != nil && ctx.Err() == nil {
		s.finish = failed(err)
		if l.Mode == servers.GRPC {
			s.finish = func(_ context.Context, w http.ResponseWriter) {
				endCall(w, servers.CodeInternal, "the server's description: "+err.Error())
			}
		}
	}
	if s.finish != nil && ctx.Err() == nil {
		s.finish(ctx, w)
	}
}

// failed returns the end of a request to which the description has no answer.
func failed(err error) func(context.Context, http.ResponseWriter) {
	return func(_ context.Context, w http.ResponseWriter) {
		http.Error(w, "the server's description: "+err.Error(), http.StatusInternalServerError)
	}
}

// requestOf returns a request as expressions see it.
func requestOf(r *http.Request, body []byte) *servers.Request {
	q := &servers.Request{Method: r.Method, Path: cmp.Or(r.URL.Path, "/"), URI: r.URL.RequestURI(), Host: r.Host, Query: servers.First(r.URL.Query()), Headers: map[string]string{}, HeaderLists: map[string][]string{}, Proto: cmp.Or(r.Proto, "HTTP/1.1")}
	for name, values := range r.Header {
		if len(values) > 0 {
			q.Headers[strings.ToLower(name)], q.HeaderLists[strings.ToLower(name)] = values[0], values
		}
	}
	if utf8.Valid(body) {
		q.Body = string(body)
	}
	if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		q.Peer, q.PeerPort = peer.Addr().String(), int64(peer.Port())
	}
	return q
}

// serverInput returns what expressions see of the container.
func (in *Ref) serverInput(q *servers.Request) *servers.Input {
	shown := in.entry.See()
	input := &servers.Input{Request: q, Container: servers.ContainerOf(in.pod, in.spec), Pod: servers.PodOf(in.pod), Now: in.runtime.opts.Clock.Now()}
	input.Pod.IP = first(in.podIPs())
	for i := range shown.State.Containers {
		if c := &shown.State.Containers[i]; c.Name == in.spec.Name {
			input.Container.StartedAt, input.Container.Restarts = c.Began(), int64(c.Restarts)
		}
	}
	return input
}

// run chooses a route and does what it says.
func (s *serving) run(ctx context.Context) error {
	return s.acting(ctx, s.listener.NeedsMachine(), func(ctx context.Context) error {
		route, status, err := s.listener.Find(s.in)
		if err != nil {
			return err
		}
		if route == nil {
			return s.unrouted(status)
		}
		return s.acting(ctx, route.NeedsMachine(), func(ctx context.Context) error { return s.follow(ctx, route) })
	})
}

// acting calls do, in the container if the request needs that.
func (s *serving) acting(ctx context.Context, needed bool, do func(ctx context.Context) error) error {
	if !needed || s.actor != nil {
		return do(ctx)
	}
	machine, release, err := s.runtime.machineFor(ctx, s.Ref)
	if err != nil {
		return err
	}
	defer release()
	return machine.Act(ctx, func(ctx context.Context, a *box.Actor) error {
		s.actor = a
		defer func() { s.actor, s.in.Read = nil, nil }()
		s.in.Container.Env = a.Environment()
		s.in.Read = func(name string) (string, error) {
			data, err := a.ReadFile(path.Clean("/" + name))
			return string(data), err
		}
		return do(ctx)
	})
}

func (s *serving) sleep(ctx context.Context, d time.Duration) error {
	if s.actor != nil {
		return s.actor.Sleep(ctx, d)
	}
	return inflight.Sleep(ctx, s.runtime.opts.Clock, d)
}

// follow does what a route says, and prepares the answer.
func (s *serving) follow(ctx context.Context, route *servers.Route) (err error) {
	if route.Delay != nil {
		d, err := route.Delay.Duration(s.in)
		if err != nil {
			return fmt.Errorf("delay: %w", err)
		}
		if err := s.sleep(ctx, d); err != nil {
			return err
		}
		s.in.Now = s.runtime.opts.Clock.Now()
	}
	if err := s.call(ctx, route.Calls); err != nil {
		return fmt.Errorf("calls: %w", err)
	}
	if route.Command != nil {
		if err := s.command(ctx, route); err != nil {
			return fmt.Errorf("run: %w", err)
		}
	}
	if err := s.kept.change(s.in, route); err != nil {
		return fmt.Errorf("set: %w", err)
	}
	if route.Log != nil {
		line, err := route.Log.Text(s.in)
		if err != nil {
			return fmt.Errorf("log: %w", err)
		}
		if out := s.output("1"); out != nil {
			_, _ = io.WriteString(out, strings.TrimSuffix(line, "\n")+"\n") // the buffer keeps it
		}
	}
	if err := s.prepare(route); err != nil {
		return err
	}
	return s.exit(route)
}

// exit makes the container end after the answer.
func (s *serving) exit(route *servers.Route) error {
	if route.Exit == nil {
		return nil
	}
	code, err := route.Exit.Int(s.in, 0, 255)
	if err != nil {
		return fmt.Errorf("exit: %w", err)
	}
	answer := s.finish
	s.finish = func(ctx context.Context, w http.ResponseWriter) {
		defer s.entry.Occur(lifecycle.Occurrence{Container: s.spec.Name, Run: s.id, ExitCode: int32(code)})
		answer(ctx, w)
	}
	return nil
}

// aborter is a ResponseWriter whose connection can end without an answer, and unsure one whose answer can be unknown in part.
type (
	aborter interface{ Abort(reset bool) }
	unsure  interface{ Unsure() }
)

// fails returns the end of a request whose route fails.
func fails(how servers.Failure) func(context.Context, http.ResponseWriter) {
	return func(ctx context.Context, w http.ResponseWriter) {
		if how == servers.Hang {
			var never inflight.Latch
			_ = never.Wait(ctx) // until the client gives up
			return
		}
		if a, ok := w.(aborter); ok {
			a.Abort(how == servers.Reset)
			return
		}
		panic(http.ErrAbortHandler) // closes the connection
	}
}

// prepare makes the answer of a route.
func (s *serving) prepare(route *servers.Route) error {
	switch {
	case route.Fail != "":
		s.finish = fails(route.Fail)
		return nil
	case route.Unknown:
		s.finish = func(_ context.Context, w http.ResponseWriter) { s.unknown(w) }
		return nil
	}
	a, err := s.listener.Answer(route, s.in)
	if err != nil {
		return err
	}
	switch {
	case route.Files != nil:
		if err := s.file(route, a); err != nil {
			return fmt.Errorf("files: %w", err)
		}
	case route.Command != nil:
		s.fromOutput(route.Command, a)
	}
	s.finish = func(_ context.Context, w http.ResponseWriter) { s.write(w, a) }
	return nil
}

// unrouted answers a request that has no route.
func (s *serving) unrouted(status int) error {
	if s.listener.Mode == servers.GRPC {
		s.finish = func(_ context.Context, w http.ResponseWriter) {
			s.writeCall(w, s.listener.Schema.Unrouted(s.in.Request))
		}
		return nil
	}
	if s.listener.Mode != servers.HTTP {
		return nil // nothing is sent
	}
	headers, err := s.listener.Plain(s.in)
	a := &servers.Answer{Status: status, Headers: headers, HasBody: true, Body: strconv.Itoa(status) + " page not found\n"}
	if status == http.StatusMethodNotAllowed {
		a.Body = http.StatusText(status) + "\n"
	}
	s.finish = func(_ context.Context, w http.ResponseWriter) { s.write(w, a) }
	return err
}

// unknown answers with the page of a server of which nothing is known.
func (s *serving) unknown(w http.ResponseWriter) {
	if s.listener.Mode == servers.HTTP {
		q := s.in.Request
		writePage(s.path, w, q.Method, q.URI, q.Peer)
	}
	if u, ok := w.(unsure); ok {
		u.Unsure()
	}
}

// write sends an answer.
func (s *serving) write(w http.ResponseWriter, a *servers.Answer) {
	if s.listener.Mode == servers.GRPC {
		s.writeCall(w, a)
		return
	}
	body := a.Body
	if _, ok := w.(unsure); !ok {
		body = unknown.Show(body)
	}
	for _, h := range a.Headers {
		if strings.EqualFold(h.Name, "Content-Type") {
			w.Header().Set(h.Name, h.Value)
		} else {
			w.Header().Add(h.Name, h.Value)
		}
	}
	if w.Header().Get("Content-Type") == "" && a.HasBody {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	if s.in.Request.Method == http.MethodHead && a.HasBody {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(cmp.Or(a.Status, http.StatusOK))
	if s.in.Request.Method != http.MethodHead {
		_, _ = io.WriteString(w, body) // it fails only if the client is gone
	}
}

// file makes one of the container's files the body of an answer, or a directory's index.html.
func (s *serving) file(route *servers.Route, a *servers.Answer) error {
	root, err := route.Files.Text(s.in)
	if err != nil {
		return err
	}
	name := path.Join("/", root, path.Clean("/"+route.Rest(s.in.Request.Path)))
	data, err := s.actor.ReadFile(name)
	if err != nil {
		if index, missing := s.actor.ReadFile(name + "/index.html"); missing == nil {
			name, data, err = name+"/index.html", index, nil
		}
	}
	a.HasBody = true
	if err != nil {
		a.Status, a.Body = http.StatusNotFound, "404 page not found\n"
		return nil
	}
	a.Body = string(data)
	a.Headers = append([]servers.Header{{Name: "Content-Type", Value: contentType(name, data)}}, a.Headers...)
	return nil
}

// contentType returns the type of a file, from its name or its content.
func contentType(name string, data []byte) string {
	switch path.Ext(name) {
	case ".html", ".htm":
		return "text/html"
	case ".css":
		return "text/css"
	case ".js":
		return "text/javascript"
	case ".json":
		return "application/json"
	case ".txt":
		return "text/plain"
	}
	return http.DetectContentType(data)
}
