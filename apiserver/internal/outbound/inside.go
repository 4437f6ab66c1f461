package outbound

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/network/secure"
)

// Callee is the pod that the calls of a Service reach.
type Callee struct {
	// Address is the one that the caller connects to.
	Address string
	// Port is the pod's port; nil: nothing listens there.
	Port *secure.Port
	// Lost means that no packet reaches the pod.
	Lost bool
}

// Refuses reports whether connections are refused.
func (c *Callee) Refuses() bool { return c.Port == nil && !c.Lost }

// Refusal is the error of a connection that is refused.
func (c *Callee) Refusal() error {
	return fmt.Errorf("dial tcp %s: connect: connection refused", c.Address)
}

// Inside makes the calls of Services whose endpoints are simulated pods: without a socket, and with the certificate verified on the
// cluster's clock. The zero value makes none.
type Inside struct {
	// Find returns the pod that a call reaches; nil: the call leaves the process.
	Find  func(ctx context.Context, namespace, name string, port int32) *Callee
	Clock clock.Clock
	// MayWait reports whether the cluster's time can pass during a call; nil: it cannot.
	MayWait func(ctx context.Context) bool
}

// Wrap makes the calls of a Service.
func (i Inside) Wrap(config *rest.Config, namespace, name string, port int32) {
	if i.Find == nil {
		return
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &inside{i, next, namespace, name, port} })
}

// inside is the transport of the calls of one Service.
type inside struct {
	Inside
	next            http.RoundTripper
	namespace, name string
	port            int32
}

// WrappedRoundTripper returns the transport that does the calls that leave the process.
func (t *inside) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *inside) RoundTrip(rq *http.Request) (*http.Response, error) {
	to := t.Find(rq.Context(), t.namespace, t.name, t.port)
	if to == nil {
		return t.next.RoundTrip(rq)
	}
	if rq.Body != nil {
		defer rq.Body.Close() // the handler has read it
	}
	switch {
	case to.Lost && (t.MayWait == nil || !t.MayWait(rq.Context())): // time would stand still
		return nil, context.DeadlineExceeded
	case to.Lost:
		return nil, cmp.Or(inflight.Sleep(rq.Context(), t.Clock, LimitOf(rq)), context.DeadlineExceeded)
	case to.Refuses():
		return nil, to.Refusal()
	}
	ctx, cancel := inflight.WithCancelCause(rq.Context())
	defer cancel(nil)
	mayWait := t.MayWait != nil && t.MayWait(ctx)
	if mayWait {
		timer := t.Clock.AfterFunc(LimitOf(rq), func() { cancel(context.DeadlineExceeded) })
		defer timer.Stop()
	}
	asked := rq.Clone(ctx)
	asked.RequestURI, asked.TLS = rq.URL.RequestURI(), nil
	if asked.Host == "" {
		asked.Host = rq.URL.Host
	}
	if err := to.Port.Arrive(ctx, asked, mayWait); err != nil {
		return nil, err
	}
	if to.Port.Certificate != nil { // a port without one is called without TLS
		if err := t.verify(ctx, to.Port); err != nil {
			return nil, err
		}
		asked.TLS = secure.State(t.serverName())
	}
	response, err := answerOf(to.Port.Handler, asked)
	if ended := context.Cause(ctx); ended != nil {
		return nil, ended
	}
	return response, err
}

// serverName is the name that the certificate has to be for.
func (t *inside) serverName() string { return t.name + "." + t.namespace + ".svc" }

// verify returns the error of crypto/tls for the certificate of a server, as the configuration of the transport asks for it.
func (t *inside) verify(ctx context.Context, port *secure.Port) error {
	if err := port.Shake(ctx); err != nil {
		return err
	}
	config, err := utilnet.TLSClientConfig(t.next)
	switch {
	case err != nil:
		return err
	case config != nil && config.InsecureSkipVerify:
		return nil
	}
	roots := x509.NewCertPool() // the machine's authorities have signed nothing in the cluster
	if config != nil && config.RootCAs != nil {
		roots = config.RootCAs
	}
	cert, err := port.Certificate(ctx)
	if errors.Is(err, secure.ErrUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	return secure.Verify(cert, roots, t.serverName(), t.Clock.Now())
}

// DefaultLimit is the default of a webhook's timeoutSeconds.
const DefaultLimit = 10 * time.Second

// LimitOf returns how long a call of an admission webhook may take. Upstream's plugins put that into the query.
func LimitOf(rq *http.Request) time.Duration {
	if limit, err := time.ParseDuration(rq.URL.Query().Get("timeout")); err == nil && limit > 0 {
		return limit
	}
	return DefaultLimit
}

// answerOf returns the response of a handler, complete. A handler that gives up ends the connection.
func answerOf(handler http.Handler, rq *http.Request) (response *http.Response, err error) {
	answer := &answer{header: http.Header{}}
	defer func() {
		if r := recover(); r != nil {
			if failure, ok := r.(error); !ok || !errors.Is(failure, http.ErrAbortHandler) {
				panic(r)
			}
			response, err = nil, io.EOF
		}
	}()
	handler.ServeHTTP(answer, rq)
	answer.WriteHeader(http.StatusOK)
	return &http.Response{
		Status: strconv.Itoa(answer.code) + " " + http.StatusText(answer.code), StatusCode: answer.code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: rq, TLS: rq.TLS,
		Header: answer.header, ContentLength: int64(answer.body.Len()), Body: io.NopCloser(&answer.body),
	}, answer.err
}

// answer is a response in memory.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
	err    error
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) {
	if a.code == 0 {
		a.code = code
	}
}

// Write implements io.Writer. It fails for more bytes than a caller reads.
func (a *answer) Write(data []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.body.Len()+len(data) > MaxAnswerBytes+1 {
		a.err = fmt.Errorf("the answer has more than %d bytes", MaxAnswerBytes)
		return 0, a.err
	}
	return a.body.Write(data)
}
