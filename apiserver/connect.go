package apiserver

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/apiserver/internal/streaming"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/peers"
)

// ServeLog implements resources.Connections.
func (rq kindCall) ServeLog(ctx context.Context) error {
	return rq.server.streaming.Log(ctx, rq.connection())
}

// ServeExec implements resources.Connections.
func (rq kindCall) ServeExec(ctx context.Context) error {
	return rq.server.streaming.Exec(ctx, rq.connection())
}

// ServeAttach implements resources.Connections.
func (rq kindCall) ServeAttach(ctx context.Context) error {
	return rq.server.streaming.Attach(ctx, rq.connection())
}

// ServePortForward implements resources.Connections.
func (rq kindCall) ServePortForward(ctx context.Context) error {
	return rq.server.streaming.PortForward(ctx, rq.connection())
}

// ServeProxyToPod implements resources.Connections.
func (rq kindCall) ServeProxyToPod(ctx context.Context) error {
	return rq.server.streaming.ProxyToPod(ctx, rq.connection())
}

// ServeProxyToService implements resources.Connections.
func (rq kindCall) ServeProxyToService(ctx context.Context) error {
	return rq.server.streaming.ProxyToService(ctx, rq.connection())
}

// ServeProxyToNode implements resources.Connections.
func (rq kindCall) ServeProxyToNode(ctx context.Context) error {
	return rq.server.streaming.ProxyToNode(ctx, rq.connection())
}

// connection returns the request for package streaming.
func (rq kindCall) connection() *streaming.Request {
	return &streaming.Request{
		Writer: rq.Writer, HTTP: rq.HTTP, Query: rq.Query,
		Namespaced: rq.Row.Namespaced, Namespace: rq.Namespace, Name: rq.Name, PassedOn: peers.IsPeer(rq.User),
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
		Services: func(ctx context.Context, namespace string) ([]*corev1.Service, error) {
			return storage.KnownIn[*corev1.Service](ctx, s.storedCore("services"), namespace)
		},
		Chance: s.chooseEndpoint, MayWait: s.mayWait, SplitLogs: s.opts.SplitLogs,
		Stopped: s.done, Kubelets: s.opts.Kubelets, Peers: s.opts.Peers, Ledger: s.opts.Ledger, Logger: s.opts.Logger,
	})
}

// admitConnect passes the options of a connection to the admission plugins, which may
// change them, before the target of the connection is looked up.
func (rq kindCall) admitConnect(ctx context.Context, opts runtime.Object) error {
	if len(rq.Query["dryRun"]) > 0 {
		return apierrors.NewBadRequest("dryRun is not supported")
	}
	attributes := rq.Attributes(admission.Connect, opts, nil, false)
	attributes.Kind = rq.Sub.GroupVersionKind
	opts.GetObjectKind().SetGroupVersionKind(attributes.Kind)
	defer inflight.Begin(rq.server.opts.Ledger, inflight.Request).End()
	if err := rq.server.admission.Mutate(ctx, attributes); err != nil {
		return err
	}
	return rq.server.admission.Check(ctx, attributes)
}
