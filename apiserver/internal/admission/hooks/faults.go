package hooks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fate describes how the injected faults change one call of a webhook.
type Fate struct {
	// Wait waits for the delay of the call, or for limit if that is shorter; nil: there is none.
	// It returns the error of ctx, and reports whether the limit was reached.
	Wait func(ctx context.Context, limit time.Duration) (late bool, err error)
	// Err is the error with which the call fails; nil: it does not.
	Err error
	// Denies, if not nil, is the answer in place of the webhook's.
	Denies *Denial
}

// Denial is an answer of a webhook that does not allow the request.
type Denial struct {
	Code    int32
	Message string
}

// answer makes the call, unless a fault prevents it.
func (t caller) answer(rq *http.Request, c *call) (*http.Response, error) {
	fate := t.plugin.opts.Faults(rq.Context(), c.configuration, c.webhook)
	if fate.Wait != nil {
		late, err := fate.Wait(rq.Context(), limitOf(rq))
		if late {
			return nil, context.DeadlineExceeded
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case fate.Err != nil:
		return nil, fate.Err
	case fate.Denies != nil:
		return deny(rq, fate.Denies)
	}
	if handler := t.simulated(rq); handler != nil {
		return serve(handler, rq), nil
	}
	return t.next.RoundTrip(rq)
}

// simulated returns the handler that answers the call in a simulated pod; nil: the call leaves
// the process.
func (t caller) simulated(rq *http.Request) http.Handler {
	name, rest, _ := strings.Cut(rq.URL.Hostname(), ".")
	namespace, service := strings.CutSuffix(rest, ".svc")
	port, err := strconv.ParseInt(cmp.Or(rq.URL.Port(), "443"), 10, 32)
	if !service || err != nil {
		return nil
	}
	return t.plugin.opts.Simulated(rq.Context(), namespace, name, int32(port))
}

// serve returns the response of a handler, complete.
func serve(handler http.Handler, rq *http.Request) *http.Response {
	answer := &answer{header: http.Header{}, code: http.StatusOK}
	handler.ServeHTTP(answer, rq)
	return &http.Response{
		Status: strconv.Itoa(answer.code) + " " + http.StatusText(answer.code), StatusCode: answer.code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: rq,
		Header: answer.header, ContentLength: int64(answer.body.Len()), Body: io.NopCloser(&answer.body),
	}
}

// answer is a response in memory.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) { a.code = code }

// Write implements io.Writer.
func (a *answer) Write(data []byte) (int, error) { return a.body.Write(data) }

// defaultLimit is the default of a webhook's timeoutSeconds.
const defaultLimit = 10 * time.Second

// limitOf returns how long the call may take. Upstream's plugins put that into the query.
func limitOf(rq *http.Request) time.Duration {
	if limit, err := time.ParseDuration(rq.URL.Query().Get("timeout")); err == nil && limit > 0 {
		return limit
	}
	return defaultLimit
}

// errNoReview means that the body of a call is no AdmissionReview.
var errNoReview = errors.New("the request is no AdmissionReview")

// deny returns the answer of a webhook that does not allow the request.
func deny(rq *http.Request, d *Denial) (*http.Response, error) {
	var review struct {
		APIVersion string `json:"apiVersion"`
		Request    *struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	if err := json.NewDecoder(rq.Body).Decode(&review); err != nil || review.Request == nil {
		return nil, errNoReview
	}
	_ = rq.Body.Close()
	type object = map[string]any
	answer, err := json.Marshal(object{
		"apiVersion": review.APIVersion, "kind": "AdmissionReview",
		"response": object{"uid": review.Request.UID, "allowed": false, "status": object{"code": d.Code, "message": d.Message}},
	})
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: rq,
		Header:        http.Header{"Content-Type": {"application/json"}},
		ContentLength: int64(len(answer)), Body: io.NopCloser(strings.NewReader(string(answer))),
	}, nil
}
