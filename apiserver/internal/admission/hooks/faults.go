package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"minikcm.dev/minikcm/apiserver/internal/outbound"
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
		late, err := fate.Wait(rq.Context(), outbound.LimitOf(rq))
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
	return t.next.RoundTrip(rq)
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
