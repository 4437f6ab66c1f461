package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// Observer records the calls and results of webhooks and policies, with the labels of upstream's metrics.
type Observer interface {
	// Begin returns the function that returns the time since.
	Begin() func() time.Duration
	// Webhook records one call of a webhook of a kind (validating or admit), with the code of
	// the answer. Rejection records a refused write, FailedOpen a failed call that did not refuse it.
	Webhook(name, kind, operation string, code int, rejected bool, took time.Duration)
	Rejection(name, kind, operation, errorType string, code int)
	FailedOpen(name, kind string)
	// ValidatingPolicy and MutatingPolicy record one evaluation of a policy.
	ValidatingPolicy(policy, binding, errorType, action string, took time.Duration)
	MutatingPolicy(policy, binding, errorType string, took time.Duration)
}

// The kinds of webhooks, as upstream's metrics name them, by the names of the spans in which
// upstream's plugins call them.
var kindOfSpan = map[string]string{"Call validating webhook": "validating", "Call mutating webhook": "admit"}

// The types of errors, as upstream's metrics name them.
const (
	failedCall    = "calling_webhook_error"
	failedInside  = "apiserver_internal_error"
	rejectedInAPI = "no_error"
)

// calls are the calls of webhooks for one step of a request.
type calls struct {
	plugin *Plugin

	mu  sync.Mutex
	all []*call
}

// call is one call of a webhook.
type call struct {
	calls                                   *calls
	configuration, webhook, kind, operation string
	elapsed                                 func() time.Duration

	// The transport sets these: the error of the call, or the answer.
	err     error
	allowed bool
	code    int
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

func (s *calls) begin(configuration, webhook, kind, operation string) *call {
	c := &call{calls: s, configuration: configuration, webhook: webhook, kind: kind, operation: operation, elapsed: s.plugin.opts.Observer.Begin()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, c)
	return c
}

// rejecting returns the call whose answer, or whose failure, upstream's plugin returned as err.
func (s *calls) rejecting(ctx context.Context, err error) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.all {
		if c.rejects(ctx) && mentions(err, c.webhook) {
			return c
		}
	}
	return nil
}

func mentions(err error, webhook string) bool {
	return bytes.Contains([]byte(err.Error()), []byte(`"`+webhook+`"`))
}

// rejects reports whether the call leads to the rejection of the request.
func (c *call) rejects(ctx context.Context) bool {
	if c.err != nil {
		return !c.calls.plugin.ignoresFailures(ctx, c)
	}
	return !c.allowed
}

// end records a call that has ended.
func (c *call) end(ctx context.Context) {
	observer, took := c.calls.plugin.opts.Observer, c.elapsed()
	rejected := c.rejects(ctx)
	code := c.status()
	observer.Webhook(c.webhook, c.kind, c.operation, code, rejected, took)
	switch {
	case errors.Is(c.err, context.Canceled):
	case c.err != nil && rejected:
		observer.Rejection(c.webhook, c.kind, c.operation, failedCall, code)
	case c.err != nil:
		observer.FailedOpen(c.webhook, c.kind)
	case rejected:
		observer.Rejection(c.webhook, c.kind, c.operation, rejectedInAPI, code)
	}
}

// status returns the code that upstream's metrics have for the call.
func (c *call) status() int {
	var status apierrors.APIStatus
	switch {
	case errors.As(c.err, &status):
		return int(status.Status().Code)
	case c.err != nil:
		return http.StatusServiceUnavailable
	case c.allowed:
		return http.StatusOK
	}
	return max(c.code, http.StatusBadRequest)
}

// ignoresFailures reports whether the webhook's failure policy is Ignore.
func (p *Plugin) ignoresFailures(ctx context.Context, c *call) bool {
	resource := validatingConfigurations
	if c.kind == "admit" {
		resource = mutatingConfigurations
	}
	known, err := p.opts.Objects(resource).KnownIn(ctx, "")
	if err != nil {
		return false
	}
	ignores := func(name string, policy *admissionv1.FailurePolicyType) bool {
		return name == c.webhook && policy != nil && *policy == admissionv1.Ignore
	}
	for _, obj := range known {
		switch config := obj.(type) {
		case *admissionv1.ValidatingWebhookConfiguration:
			for i := range config.Webhooks {
				if config.Name == c.configuration && ignores(config.Webhooks[i].Name, config.Webhooks[i].FailurePolicy) {
					return true
				}
			}
		case *admissionv1.MutatingWebhookConfiguration:
			for i := range config.Webhooks {
				if config.Name == c.configuration && ignores(config.Webhooks[i].Name, config.Webhooks[i].FailurePolicy) {
					return true
				}
			}
		}
	}
	return false
}

// caller is the transport of all webhooks: it applies faults, and keeps the outcome of each call.
type caller struct {
	plugin *Plugin
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t caller) RoundTrip(rq *http.Request) (*http.Response, error) {
	c := callOf(rq.Context())
	if c == nil {
		return t.next.RoundTrip(rq)
	}
	resp, err := t.answer(rq, c)
	if err != nil {
		c.err = err
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		c.err = apierrors.NewGenericServerResponse(resp.StatusCode, "", admissionv1.Resource(""), "", "", 0, true)
		return resp, nil
	}
	data, err := io.ReadAll(resp.Body) // within the limit of outbound.Resolver
	_ = resp.Body.Close()
	if err != nil {
		c.err = err
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	c.read(data)
	return resp, nil
}

// WrappedRoundTripper returns the transport that does the calls.
func (t caller) WrappedRoundTripper() http.RoundTripper { return t.next }

// read keeps the response in an AdmissionReview. One that cannot be read is an error, as for
// upstream's plugin.
func (c *call) read(data []byte) {
	var review struct {
		Response *struct {
			Allowed bool `json:"allowed"`
			Status  *struct {
				Code int `json:"code"`
			} `json:"status"`
		} `json:"response"`
	}
	if err := json.Unmarshal(data, &review); err != nil || review.Response == nil {
		c.err = errUnreadable
		return
	}
	c.allowed = review.Response.Allowed
	if status := review.Response.Status; status != nil {
		c.code = status.Code
	}
}

// errUnreadable means that a webhook's answer is no AdmissionReview.
var errUnreadable = errors.New("the answer is no AdmissionReview with a response")
