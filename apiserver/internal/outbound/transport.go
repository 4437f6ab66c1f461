package outbound

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// MaxAnswerBytes limits the answer of a webhook. A patch or a converted object is at most
	// as large as a request body, 3 MiB, which base64 and escapes enlarge.
	MaxAnswerBytes = 16 << 20
	// Timeout limits a call, including its answer, in real time. An admission webhook may
	// have a shorter timeout.
	Timeout = 30 * time.Second
)

// Resolver configures the calls of webhooks: without credentials, within Timeout, and
// with the limits of limited. It is an AuthenticationInfoResolver of k8s.io/apiserver.
type Resolver struct {
	// UserAgent is sent with each call; empty means client-go's.
	UserAgent string
	// Inside makes the calls of Services in simulated pods.
	Inside Inside
	// Skip decides which calls of Services are skipped; nil: none.
	Skip Skip
	// Wrap, if not nil, returns the transport to use in place of one with the limits, which skips calls.
	Wrap func(limited http.RoundTripper) http.RoundTripper
}

// ClientConfigFor returns the configuration for a URL.
func (r Resolver) ClientConfigFor(string) (*rest.Config, error) { return r.wrapped(r.config()), nil }

// ClientConfigForService returns the configuration for a Service.
func (r Resolver) ClientConfigForService(name, namespace string, port int) (*rest.Config, error) {
	config := &rest.Config{Timeout: Timeout, UserAgent: r.UserAgent}
	r.Inside.Wrap(config, namespace, name, int32(port))
	limit(config)
	r.Skip.wrap(config, namespace, name, port)
	return r.wrapped(config), nil
}

func (r Resolver) wrapped(config *rest.Config) *rest.Config {
	if r.Wrap != nil {
		config.Wrap(r.Wrap)
	}
	return config
}

func (r Resolver) config() *rest.Config {
	config := &rest.Config{Timeout: Timeout, UserAgent: r.UserAgent}
	limit(config)
	return config
}

// limit bounds the answers of a webhook.
func limit(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return Limit(next, MaxAnswerBytes, "webhook") })
}

// Limit returns a transport that reads at most maxBytes of an answer, refuses redirects and
// hides the bodies of errors. callee names the called service in messages.
func Limit(next http.RoundTripper, maxBytes int64, callee string) http.RoundTripper {
	return limited{next, maxBytes, callee}
}

// limited reads at most max bytes of an answer, refuses redirects, which could lead to
// addresses that only the API server reaches, and replaces the bodies of errors, which
// client-go includes in the message for the API's client, with the status.
type limited struct {
	next   http.RoundTripper
	max    int64
	callee string
}

// RoundTrip implements http.RoundTripper.
func (t limited) RoundTrip(rq *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(rq)
	if err != nil {
		return nil, err
	}
	switch answer.StatusCode / 100 {
	case 2:
		answer.Body = &limitedBody{ReadCloser: answer.Body, left: t.max, max: t.max}
	case 3:
		_ = answer.Body.Close()
		return nil, fmt.Errorf("the answer is %q, and redirects are not followed: configure the %s's final address", answer.Status, t.callee)
	default:
		_ = answer.Body.Close()
		answer.Body, answer.ContentLength = io.NopCloser(strings.NewReader(answer.Status)), int64(len(answer.Status))
		answer.Header.Set("Content-Type", "text/plain")
		answer.Header.Del("Content-Length")
	}
	return answer, nil
}

// WrappedRoundTripper returns the transport that does the calls.
func (t limited) WrappedRoundTripper() http.RoundTripper { return t.next }

// limitedBody fails when more than max bytes are read.
type limitedBody struct {
	io.ReadCloser
	left, max int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 { // one byte more shows that there are more
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) > b.left {
		return int(b.left), fmt.Errorf("the answer has more than %d bytes", b.max)
	}
	b.left -= int64(n)
	return n, err
}
