package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/request"
	"minikcm.dev/minikcm/apiserver/streaming"
)

// ServeConnection serves a subresource whose requests upstream passes on to a node or a
// pod.
func (rq *call) ServeConnection(ctx context.Context) error {
	return rq.server.streaming.Serve(ctx, &streaming.Request{
		Writer: rq.Writer, HTTP: rq.HTTP, Query: rq.Query,
		Resource: rq.Row.Plural, Namespaced: rq.Row.Namespaced, Namespace: rq.Namespace, Name: rq.Name, Subresource: rq.Subresource,
		AuthorizeCreate: rq.authorizeCreate, Admit: rq.admitConnect,
	})
}

// newStreaming returns the server of connections to pods, Services and nodes.
func (s *Server) newStreaming() *streaming.Server {
	return streaming.New(streaming.Options{
		Get: func(ctx context.Context, resource, namespace, name string) (runtime.Object, error) {
			objects := s.storedCore(resource)
			return objects.Get(ctx, objects.Key(namespace, name), name)
		},
		Stopped: s.done, Containers: s.opts.Containers, Logs: s.opts.Logs, Ledger: s.opts.Ledger, Logger: s.opts.Logger,
	})
}

// connects reports whether the request connects the client to a pod.
func (rq *call) connects() bool { return rq.Sub != nil && rq.Sub.Streams }

// longRunning reports whether the request may last indefinitely. It is not counted as
// in flight, because virtual time would stand still meanwhile.
func (rq *call) longRunning() bool {
	return rq.Verb == request.VerbWatch || rq.connects() || rq.Sub != nil && rq.Sub.Follows != nil && rq.Sub.Follows(rq.Query)
}
