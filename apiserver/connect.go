package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/request"
	"minikcm.dev/minikcm/apiserver/streaming"
)

// ServeLog implements resources.Connections.
func (rq *call) ServeLog(ctx context.Context) error {
	return rq.server.streaming.Log(ctx, rq.connection())
}

// ServeExec implements resources.Connections.
func (rq *call) ServeExec(ctx context.Context) error {
	return rq.server.streaming.Exec(ctx, rq.connection())
}

// ServeAttach implements resources.Connections.
func (rq *call) ServeAttach(ctx context.Context) error {
	return rq.server.streaming.Attach(ctx, rq.connection())
}

// ServePortForward implements resources.Connections.
func (rq *call) ServePortForward(ctx context.Context) error {
	return rq.server.streaming.PortForward(ctx, rq.connection())
}

// ServeProxyToPod implements resources.Connections.
func (rq *call) ServeProxyToPod(ctx context.Context) error {
	return rq.server.streaming.ProxyToPod(ctx, rq.connection())
}

// ServeProxyToService implements resources.Connections.
func (rq *call) ServeProxyToService(ctx context.Context) error {
	return rq.server.streaming.ProxyToService(ctx, rq.connection())
}

// ServeProxyToNode implements resources.Connections.
func (rq *call) ServeProxyToNode(ctx context.Context) error {
	return rq.server.streaming.ProxyToNode(ctx, rq.connection())
}

// connection returns the request for package streaming.
func (rq *call) connection() *streaming.Request {
	return &streaming.Request{
		Writer: rq.Writer, HTTP: rq.HTTP, Query: rq.Query,
		Namespaced: rq.Row.Namespaced, Namespace: rq.Namespace, Name: rq.Name,
		AuthorizeCreate: rq.authorizeCreate, Admit: rq.admitConnect,
	}
}

// newStreaming returns the server of connections to pods, Services and nodes.
func (s *Server) newStreaming() *streaming.Server {
	return streaming.New(streaming.Options{
		Get: func(ctx context.Context, resource, namespace, name string) (runtime.Object, error) {
			objects := s.storedCore(resource)
			return objects.Get(ctx, objects.Key(namespace, name), name)
		},
		Stopped: s.done, Kubelets: s.opts.Kubelets, Ledger: s.opts.Ledger, Logger: s.opts.Logger,
	})
}

// connects reports whether the request connects the client to a pod.
func (rq *call) connects() bool { return rq.Sub != nil && rq.Sub.Streams }

// longRunning reports whether the request may last indefinitely. It is not counted as
// in flight, because virtual time would stand still meanwhile.
func (rq *call) longRunning() bool {
	return rq.Verb == request.VerbWatch || rq.connects() || rq.Sub != nil && rq.Sub.Follows != nil && rq.Sub.Follows(rq.Query)
}
