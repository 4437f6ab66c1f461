package objectclient

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/metrics"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/envelope"
)

// maxResponseBytes bounds the responses that are decoded here. client-go decodes larger ones.
const maxResponseBytes = 4 << 20

// Client sends requests for objects. It is safe for concurrent use.
type Client struct {
	next   http.RoundTripper
	base   url.URL // with the path that precedes /api and /apis
	header http.Header
	blank  http.Request // what all requests have in common
}

// Object is an object with a protobuf form.
type Object interface {
	runtime.Object
	envelope.Message
	Unmarshal(data []byte) error
}

// Request is a request for one object.
type Request struct {
	// Method is POST, PUT, PATCH or GET.
	Method string
	// Kind is the kind of the endpoint's objects, and Resource their resource.
	Kind     schema.GroupVersionKind
	Resource string
	// Namespace is empty for objects without one. Name is empty for POST to the collection.
	Namespace, Name, Subresource string
	// Query is the encoded query.
	Query string
	// Body is the object to send, of BodyKind or else of Kind; nil if Patch is sent, or nothing.
	Body     envelope.Message
	BodyKind string
	// Patch is sent with its media type in place of Body.
	Patch     []byte
	PatchType string
}

// NewForConfig returns a clientset of config. The short way is only taken with a configuration that limits neither rates nor times, and
// prefers protobuf, since client-go does these things above the RoundTripper.
func NewForConfig(config *rest.Config) (kubernetes.Interface, error) {
	if config.QPS >= 0 || config.RateLimiter != nil || config.Timeout != 0 || config.ContentType != runtime.ContentTypeProtobuf || config.WarningHandler != nil || config.WarningHandlerWithContext != nil {
		return kubernetes.NewForConfig(config)
	}
	shared := rest.CopyConfig(config)
	if shared.UserAgent == "" {
		shared.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	client, err := rest.HTTPClientFor(shared)
	if err != nil {
		return nil, fmt.Errorf("making the HTTP client: %w", err)
	}
	next := client.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	client.Transport = answers{next}
	slow, err := kubernetes.NewForConfigAndClient(shared, client)
	if err != nil {
		return nil, err
	}
	base := slow.CoreV1().RESTClient().Get().AbsPath("/").URL()
	accept := shared.AcceptContentTypes
	if accept == "" {
		accept = runtime.ContentTypeProtobuf + ",application/json"
	}
	return clientset{slow, &Client{
		next: next, base: url.URL{Scheme: base.Scheme, Host: base.Host, Path: strings.TrimSuffix(base.Path, "/")},
		header: http.Header{"Accept": {accept}, "Content-Type": {runtime.ContentTypeProtobuf}, "User-Agent": {shared.UserAgent}},
		blank:  http.Request{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1},
	}}, nil
}

// Of returns the client of a clientset that NewForConfig has made; nil if its requests go through client-go alone.
func Of(client kubernetes.Interface) *Client {
	if c, ok := client.(clientset); ok {
		return c.client
	}
	return nil
}

// Do sends a request and decodes a success into into, unless that is nil. If it returns false, the caller makes the same call through
// client-go with the context that it got: the request has been sent if it could be, and client-go finds its answer.
func (c *Client) Do(ctx context.Context, r *Request, into Object) (context.Context, bool) {
	if c == nil {
		return ctx, false
	}
	req, err := c.request(ctx, r)
	if err != nil {
		return ctx, false // client-go has the words for it
	}
	elapsed := clock.Stopwatch()
	response, err := c.next.RoundTrip(req)
	if err != nil {
		return withAnswer(ctx, nil, err), false
	}
	if !decodes(response) {
		return withAnswer(ctx, response, nil), false
	}
	if err := read(response, r.Kind, into); err != nil {
		return withAnswer(ctx, response, nil), false
	}
	measure(ctx, req, response, elapsed())
	return ctx, true
}

// measure updates client-go's metrics of requests (rest_client_requests_total and others).
func measure(ctx context.Context, req *http.Request, response *http.Response, took time.Duration) {
	metrics.RequestResult.Increment(ctx, strconv.Itoa(response.StatusCode), req.Method, req.URL.Host)
	metrics.RequestLatency.Observe(ctx, req.Method, *req.URL, took)
	if req.ContentLength > 0 {
		metrics.RequestSize.Observe(ctx, req.Method, req.URL.Host, float64(req.ContentLength))
	}
	metrics.ResponseSize.Observe(ctx, req.Method, req.URL.Host, float64(response.ContentLength))
}

// request forms the HTTP request. The error says that client-go must do it, or refuse it.
func (c *Client) request(ctx context.Context, r *Request) (*http.Request, error) {
	where, err := c.path(r)
	if err != nil {
		return nil, err
	}
	header := make(http.Header, len(c.header))
	for name, values := range c.header {
		header[name] = values[:1:1]
	}
	body := r.Patch
	if r.PatchType != "" {
		header["Content-Type"] = []string{r.PatchType}
	} else if r.Body != nil {
		kind := r.Kind
		if r.BodyKind != "" {
			kind.Kind = r.BodyKind
		}
		e := envelope.New(kind, r.Body)
		body = make([]byte, e.Length)
		if err := e.WriteTo(body); err != nil {
			return nil, err
		}
	} else {
		delete(header, "Content-Type")
	}
	target := c.base
	target.Path, target.RawQuery = where, r.Query
	req := c.blank.WithContext(ctx)
	req.Method, req.URL, req.Host, req.Header = r.Method, &target, target.Host, header
	if len(body) > 0 {
		req.ContentLength = int64(len(body))
		req.Body = io.NopCloser(bytes.NewReader(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	return req, nil
}

// path returns the path of a request. An error says that a name cannot be a part of it.
func (c *Client) path(r *Request) (string, error) {
	if r.Name == "" && r.Method != http.MethodPost {
		return "", fmt.Errorf("the request has no name")
	}
	for _, segment := range []string{r.Namespace, r.Name} {
		if reasons := content.IsPathSegmentName(segment); len(reasons) > 0 {
			return "", fmt.Errorf("%q cannot be a part of a path", segment)
		}
	}
	var b strings.Builder
	b.Grow(len(c.base.Path) + len(r.Kind.Group) + len(r.Namespace) + len(r.Name) + 64)
	b.WriteString(c.base.Path)
	if r.Kind.Group == "" {
		b.WriteString("/api/")
	} else {
		b.WriteString("/apis/")
		b.WriteString(r.Kind.Group)
		b.WriteByte('/')
	}
	b.WriteString(r.Kind.Version)
	if r.Namespace != "" {
		b.WriteString("/namespaces/")
		b.WriteString(r.Namespace)
	}
	for _, segment := range []string{r.Resource, r.Name, r.Subresource} {
		if segment != "" {
			b.WriteByte('/')
			b.WriteString(segment)
		}
	}
	return b.String(), nil
}

// decodes reports whether a response is one that Do decodes: a success in protobuf of known length, without a warning.
func decodes(response *http.Response) bool {
	return response.StatusCode >= http.StatusOK && response.StatusCode < http.StatusMultipleChoices &&
		response.ContentLength >= 0 && response.ContentLength <= maxResponseBytes &&
		len(response.Header["Warning"]) == 0 && response.Header.Get("Content-Type") == runtime.ContentTypeProtobuf
}

// buffers holds the buffers that read reuses. Unmarshal copies what it keeps.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// read decodes the body of a response. After an error, the response has its body again.
func read(response *http.Response, kind schema.GroupVersionKind, into Object) error {
	buffer := buffers.Get().(*[]byte)
	if cap(*buffer) < int(response.ContentLength) {
		*buffer = make([]byte, response.ContentLength)
	}
	data := (*buffer)[:response.ContentLength]
	n, err := io.ReadFull(response.Body, data)
	if err == nil {
		err = decode(data, kind, into)
	}
	if err != nil {
		rest := response.Body
		response.Body = readCloser{io.MultiReader(bytes.NewReader(data[:n]), rest), rest}
		return err
	}
	buffers.Put(buffer)
	_ = response.Body.Close() // all of it has been read, and client-go does not look at the error either
	return nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

// decode decodes a document of a kind; of another kind, it is client-go's to decode.
func decode(data []byte, kind schema.GroupVersionKind, into Object) error {
	if into == nil {
		return nil
	}
	typeMeta, message, err := envelope.Open(data)
	if err != nil {
		return err
	}
	var is runtime.TypeMeta
	if err := is.Unmarshal(typeMeta); err != nil {
		return err
	}
	if is.Kind != kind.Kind {
		return fmt.Errorf("the response is a %s", is.Kind)
	}
	return into.Unmarshal(message)
}
