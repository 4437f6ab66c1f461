package kubeletsim

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/network/routes"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// maxRepeated caps the body of a request that a router may send again.
const maxRepeated = 1 << 20

// Sender sends a request of a router to the server at the end of a path, which may be a process of this machine.
type Sender func(next *reach.Path, w http.ResponseWriter, r *http.Request)

// routing is a request at a router.
type routing struct {
	k       *network
	path    *reach.Path
	request *routes.Request
	send    Sender
}

// answer gets an answer of the backend that a decision names, as often and as long as its rule says.
func (f *routing) answer(w http.ResponseWriter, r *http.Request, d *reach.Forwarded) {
	ctx, rule, attempts := r.Context(), d.Rule, 0
	if rule.Timeout > 0 || rule.BackendTimeout > 0 || rule.Retry != nil {
		if !inflight.MayPause(ctx) {
			work := inflight.Begin(f.k.opts.Ledger, inflight.Request)
			defer work.End()
			ctx = inflight.With(ctx, work)
		}
		if rule.Retry != nil {
			attempts = rule.Retry.Attempts
		}
	}
	if rule.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = clock.WithTimeout(ctx, f.k.opts.Clock, rule.Timeout)
		defer stop()
	}
	var body []byte
	if attempts > 0 {
		var err error
		if body, err = io.ReadAll(io.LimitReader(r.Body, maxRepeated+1)); err != nil {
			return // the client is gone
		}
		if len(body) > maxRepeated {
			http.Error(w, "minikcm: the body is larger than a router with retries accepts", http.StatusRequestEntityTooLarge)
			return
		}
	}
	for n := 0; ; n++ {
		own := r.WithContext(ctx)
		if attempts > 0 {
			own.Body = io.NopCloser(bytes.NewReader(body))
		}
		a := f.attempt(w, own, d)
		if r.Context().Err() != nil {
			return // the client is gone
		}
		if a == nil {
			return
		}
		if n >= attempts || ctx.Err() != nil || a.failure == "" && !slices.Contains(rule.Retry.Statuses, a.status) {
			a.copyTo(w)
			return
		}
		err := inflight.Sleep(ctx, f.k.opts.Clock, rule.Retry.Backoff)
		if err == nil {
			d, err = f.k.fabric.Forward(ctx, f.path, f.request, n+1)
		}
		if err != nil || d.Rule != rule { // the request is over, or the rules have changed
			a.copyTo(w)
			return
		}
	}
}

// attempt asks a server once. It returns nil if a process of the machine has answered.
func (f *routing) attempt(w http.ResponseWriter, r *http.Request, d *reach.Forwarded) *routed {
	a := &routed{header: http.Header{}}
	if d.Status != 0 {
		a.fail(d.Status, d.Why)
		return a
	}
	ctx := r.Context()
	if limit := d.Rule.BackendTimeout; limit > 0 {
		var stop context.CancelFunc
		ctx, stop = clock.WithTimeout(ctx, f.k.opts.Clock, limit)
		defer stop()
	}
	out := forwarded(f.path, d.Next, r.WithContext(ctx), d, f.request)
	w = answering(w, d)
	if l := d.Next.Listener; l != nil && l.Process != "" {
		f.send(d.Next, w, out)
		return nil
	}
	a.changes = w
	f.send(d.Next, a, out)
	if ctx.Err() != nil && r.Context().Err() == nil || r.Context().Err() != nil && context.Cause(r.Context()) == clock.ErrTimeout {
		limit := d.Rule.BackendTimeout
		if r.Context().Err() != nil {
			limit = d.Rule.Timeout
		}
		a.fail(routes.StatusGatewayTimeout, fmt.Sprintf("there was no answer within %s", limit))
	}
	if a.failure == "" && a.status == 0 {
		a.fail(routes.StatusBadGateway, "the server has ended the connection without an answer")
	}
	return a
}

// routed is the answer that a router has got, before its client gets it.
type routed struct {
	header http.Header
	status int
	body   bytes.Buffer
	// isOpen means that more than what is written may be in the answer.
	isOpen bool
	// failure says why there is no answer of a server; empty: there is one.
	failure string
	// changes is the client's writer with what the rule changes in the answer; nil for answers of the router.
	changes http.ResponseWriter
}

// fail makes the answer one of the router.
func (a *routed) fail(status int, why string) {
	*a = routed{header: http.Header{}, status: status, failure: why}
}

// Header implements http.ResponseWriter.
func (a *routed) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *routed) WriteHeader(status int) { a.status = cmp.Or(a.status, status) }

// Write implements http.ResponseWriter.
func (a *routed) Write(data []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(data)
}

// Abort ends the connection between the router and the server.
func (a *routed) Abort(bool) {
	a.fail(routes.StatusBadGateway, "the server has ended the connection without an answer")
}

// Unsure says that more than what is written is in the answer.
func (a *routed) Unsure() { a.isOpen = true }

// copyTo sends the answer to the client.
func (a *routed) copyTo(w http.ResponseWriter) {
	if a.failure != "" {
		refuse(w, a.status, a.failure)
		return
	}
	body := a.body.Bytes()
	if client, ok := w.(interface{ Unsure() }); !ok {
		body = []byte(unknown.Show(string(body)))
	} else if a.isOpen {
		client.Unsure()
	}
	w = a.changes
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(body) // it fails only if the client is gone
}

// refuse answers in place of a server.
func refuse(w http.ResponseWriter, status int, why string) {
	http.Error(w, fmt.Sprintf("minikcm: %s: %s", routes.StatusText(status), why), status)
}
