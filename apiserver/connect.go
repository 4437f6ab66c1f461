package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/request"
	"minikcm.dev/minikcm/apiserver/streaming"
)

// serveConnection serves a subresource whose requests upstream passes on to a node or a
// pod.
func serveConnection(ctx context.Context, rq *call) error {
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

// proxies reports whether the request is passed on unchanged.
func (rq *call) proxies() bool { return rq.Sub.Proxied && rq.Subresource == "proxy" }

// connects reports whether the request connects the client to a pod.
func (rq *call) connects() bool { return streaming.Connects(rq.GVR, rq.Subresource) }

// longRunning reports whether the request may last indefinitely. It is not counted as
// in flight, because virtual time would stand still meanwhile.
func (rq *call) longRunning() bool {
	return rq.Verb == request.VerbWatch || rq.connects() || rq.followsLog()
}

func (rq *call) followsLog() bool {
	return rq.Sub != nil && rq.Sub.Proxied && rq.Subresource == "log" && streaming.Follows(rq.Query)
}
