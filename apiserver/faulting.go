package apiserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/transport"
	"minikcm.dev/minikcm/apiserver/internal/verbs"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/faults"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/reasons"
)

// faulted applies the injected faults of the API to requests.
func (s *Server) faulted(w http.ResponseWriter, r *http.Request, next http.Handler) {
	f := s.opts.Faults
	if f == nil || f.AtRest() && !transport.MayStream(r) || s.isOwnPath(r.URL.Path) {
		next.ServeHTTP(w, r)
		return
	}
	user := auth.FromContext(r.Context())
	if user != nil && !transport.IsLocal(r.Context()) && f.IsDown(user.Name) {
		panic(http.ErrAbortHandler) // closes the connection, as when the process ends
	}
	rq, ok := faultyRequest(r, user)
	if ok && rq.Verb == request.VerbCreate && rq.Name == "" && f.NeedsNames() {
		rq.Name, r = createdName(r)
	}
	if !ok {
		next.ServeHTTP(w, r)
		return
	}
	ctx := r.Context()
	var fate faults.Fate
	if !s.isHurried(ctx) {
		fate = f.Meet(rq)
	}
	if len(fate.Delays) > 0 && s.mayWait(ctx) {
		if limit, err := request.TimeoutOf(r.URL.Query()); err == nil && rq.Verb != request.VerbWatch {
			var stop context.CancelFunc
			ctx, stop = inflight.WithLimitCause(ctx, s.opts.Clock, limit, context.DeadlineExceeded)
			defer stop()
		}
		if fate.Wait(ctx) != nil {
			err := apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0)
			if timedOut(r.Context(), err) {
				s.noteRefused(r, reasons.Refuser{Kind: reasons.ByTimeout}, err)
			}
			response.Error(w, r, err)
			return
		}
	}
	if fate.Refusal != nil {
		err := refusal(fate.Refusal, rq)
		s.noteRefused(r, reasons.Refuser{Kind: reasons.ByFault}, err)
		response.Error(w, r, err)
		return
	}
	if fate.Behind > 0 {
		ctx = verbs.WithBehind(ctx, fate.Behind)
	}
	if rq.Verb == request.VerbWatch {
		watching, done := f.Watching(ctx, rq)
		defer transport.AtStreamEnd(ctx, done)()
		ctx = watching
	}
	next.ServeHTTP(w, r.WithContext(ctx))
}

// ownPath is the prefix of the paths that only minikcm serves.
const ownPath = "/minikcm/v1"

// faultyRequest returns a request in the form that fault rules match; ok is false if the request
// is not for a resource.
func faultyRequest(r *http.Request, user *auth.User) (*faults.Request, bool) {
	info, ok := request.InfoFrom(r.Context())
	if !ok {
		return nil, false
	}
	rq := &faults.Request{
		Verb: info.Verb, Group: info.GVR.Group, Resource: info.GVR.Resource, Subresource: info.Subresource,
		Namespace: info.Namespace, Name: info.Name, UserAgent: r.UserAgent(),
	}
	if user != nil {
		rq.User = user.Name
	}
	return rq, true
}

// createdName returns the name of the object that a request creates, empty if it has none yet, and
// the request with its whole body.
func createdName(r *http.Request) (string, *http.Request) {
	if r.Body == nil {
		return "", r
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, request.MaxBodyBytes+1))
	rest := io.MultiReader(bytes.NewReader(data), r.Body)
	if err != nil {
		rest = io.MultiReader(bytes.NewReader(data), failing{err})
	}
	again := r.WithContext(r.Context())
	again.Body = struct {
		io.Reader
		io.Closer
	}{rest, r.Body}
	return codec.NameOf(data), again
}

// failing is a Reader that fails.
type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, f.err }

// refusal returns the Status that a real API server would respond with.
func refusal(rule *faults.Rule, rq *faults.Request) error {
	if rule.Err != nil {
		return rule.Err
	}
	resource := schema.GroupResource{Group: rq.Group, Resource: rq.Resource}
	message := rule.Message
	var err *apierrors.StatusError
	switch rule.Code {
	case http.StatusConflict:
		if message == "" {
			message = "the object has been modified; please apply your changes to the latest version and try again"
		}
		err = apierrors.NewConflict(resource, rq.Name, errors.New(message))
	case http.StatusTooManyRequests:
		if message == "" {
			message = "Too many requests, please try again later."
		}
		err = apierrors.NewTooManyRequests(message, rule.RetryAfter)
	default:
		err = apierrors.NewGenericServerResponse(rule.Code, rq.Verb, resource, rq.Name, message, rule.RetryAfter, false)
		if message != "" {
			err.ErrStatus.Message = message
		}
	}
	if rule.Reason != "" {
		err.ErrStatus.Reason = metav1.StatusReason(rule.Reason)
	}
	if rule.RetryAfter > 0 {
		if err.ErrStatus.Details == nil {
			err.ErrStatus.Details = &metav1.StatusDetails{}
		}
		err.ErrStatus.Details.RetryAfterSeconds = int32(rule.RetryAfter) // a small number of seconds
	}
	return err
}

// maxRetries is the number of client-go's retries after Retry-After.
const maxRetries = 10

// faultyTransport carries the requests of an in-process client to a server with faults.
// It handles Retry-After itself, in cluster time, because client-go would wait in real
// time.
type faultyTransport struct {
	server *Server
	next   *transport.Transport
}

// CloseIdleConnections does nothing: there are no connections. client-go calls it.
func (t *faultyTransport) CloseIdleConnections() {}

// PassesContext marks a transport whose handlers get the context of a request
// (cause.ContextPasser).
func (t *faultyTransport) PassesContext() {}

// RoundTrip serves req, unless a fault keeps the client from reaching the server.
func (t *faultyTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	f := t.server.opts.Faults
	if t.server.isHurried(req.Context()) || t.server.isOwnPath(req.URL.Path) {
		return t.next.RoundTrip(req)
	}
	user := t.next.UserOf(req.Context())
	for attempt := 0; ; attempt++ {
		if err := f.Reach(req.Context(), user.Name, transport.MayStream(req)); err != nil {
			t.noteUnreached(req, user, err)
			return nil, err
		}
		resp, err := t.next.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		seconds, asked := asksAgain(resp)
		if !asked || t.server.opts.Clock == clock.Real() {
			return resp, nil
		}
		again := rewound(req)
		if attempt == maxRetries || again == nil || !t.server.mayWaitFor(req.Context(), user) {
			resp.Header.Del("Retry-After")
			return resp, nil
		}
		_ = resp.Body.Close() // the body is in memory
		if err := f.Sleep(req.Context(), time.Duration(seconds)*time.Second); err != nil {
			return nil, err
		}
		req = again
	}
}

// noteUnreached records that a fault keeps a client from reaching the server.
func (t *faultyTransport) noteUnreached(req *http.Request, user *auth.User, err error) {
	if req.Context().Err() == nil {
		ctx, _ := request.Parse(auth.WithUser(req.Context(), user), req)
		t.server.noteRefused(req.WithContext(ctx), reasons.Refuser{Kind: reasons.ByFault}, err)
	}
}

// asksAgain returns the Retry-After of a response, in seconds.
func asksAgain(resp *http.Response) (seconds int, asked bool) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < http.StatusInternalServerError {
		return 0, false
	}
	seconds, err := strconv.Atoi(strings.TrimSpace(resp.Header.Get("Retry-After")))
	return seconds, err == nil
}

// rewound returns a copy of the request with its body rewound; nil if that is not
// possible.
func rewound(req *http.Request) *http.Request {
	again := req.Clone(req.Context())
	if req.Body == nil || req.Body == http.NoBody {
		return again
	}
	if req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	again.Body = body
	return again
}
