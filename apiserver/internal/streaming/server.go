package streaming

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/peers"
)

// Options configure New. Get, Services and Stopped are required.
type Options struct {
	// Get reads an object of the core group from the store, by the plural name of its
	// resource.
	Get func(ctx context.Context, resource, namespace, name string) (runtime.Object, error)
	// Services returns the Services of a namespace.
	Services func(ctx context.Context, namespace string) ([]*corev1.Service, error)
	// Chance chooses one of n endpoints of a Service; nil: always the first.
	Chance func(namespace, service string, n int) int
	// MayWait reports whether the cluster's time can pass during a request; nil: it can.
	MayWait func(ctx context.Context) bool
	// SplitLogs allows a client to ask for one of the streams of a log (KEP-3288).
	SplitLogs bool
	// Stopped is closed when the server stops.
	Stopped <-chan struct{}
	// Kubelets may be nil: then the requests that need them fail.
	Kubelets Kubelets
	// Peers are the other processes that simulate nodes; nil: there are none.
	Peers  *peers.Peers
	Ledger *clock.Ledger
	Logger klog.Logger
}

// Server serves requests for connections.
type Server struct{ opts Options }

// New returns a Server.
func New(opts Options) *Server { return &Server{opts: opts} }

// Request is a request for a subresource of a pod, a Service or a node.
type Request struct {
	Writer http.ResponseWriter
	HTTP   *http.Request
	// Query has the parameters of the request's URL.
	Query url.Values
	// Namespaced reports the scope of the resource.
	Namespaced      bool
	Namespace, Name string
	// PassedOn reports that another process has passed the request on, after it has authorized
	// and admitted it.
	PassedOn bool
	// AuthorizeCreate returns an error if the user may not create the subresource.
	AuthorizeCreate func(ctx context.Context) error
	// Admit passes the options of the connection, of the subresource's kind, to
	// webhooks and policies, which may change them.
	Admit func(ctx context.Context, opts runtime.Object) error
}

// readHeaderTimeout limits the time for the header of a forwarded request, in real time.
const readHeaderTimeout = time.Minute

// permit authorizes the request as a create, because WebSockets are opened by GET and the
// permission to read must not allow running commands. It then calls webhooks and
// policies.
func (rq *Request) permit(ctx context.Context, opts runtime.Object) error {
	if err := rq.AuthorizeCreate(ctx); err != nil {
		return err
	}
	return rq.admit(ctx, opts)
}

// admit calls webhooks and policies, once for each request of a client.
func (rq *Request) admit(ctx context.Context, opts runtime.Object) error {
	if rq.PassedOn {
		return nil
	}
	return rq.Admit(ctx, opts)
}

// pod reads a pod.
func (s *Server) pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return read[*corev1.Pod](ctx, s, "pods", namespace, name)
}

// read reads an object of the core group.
func read[T runtime.Object](ctx context.Context, s *Server, resource, namespace, name string) (T, error) {
	var none T
	obj, err := s.opts.Get(ctx, resource, namespace, name)
	if err != nil {
		return none, err
	}
	typed, ok := obj.(T)
	if !ok {
		return none, apierrors.NewInternalError(fmt.Errorf("a %T is stored among the %s as %s/%s", obj, resource, namespace, name))
	}
	return typed, nil
}

// untilStopped returns a context that also ends when the server stops.
func (s *Server) untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-s.opts.Stopped:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
