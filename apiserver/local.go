package apiserver

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver/internal/transport"
	"minikcm.dev/minikcm/internal/auth"
)

// Local connects in-process clients to a server. As with an address that nothing listens
// on yet, a client may be built before the server; its requests fail until New, with this
// Local in its Options, has returned. So the server's constructor can get parts that are
// its clients. The zero value is ready to use.
type Local struct {
	server atomic.Pointer[Server]
}

// errNotListening is the error of a request before the server is ready.
var errNotListening = errors.New("the apiserver has not started yet")

// Config returns the configuration of an in-process client that acts as user, in groups,
// as Server.Config does. The client is a part of the cluster, whose reads are no observations.
func (l *Local) Config(user string, groups ...string) *rest.Config {
	identity := &auth.User{Name: user, Groups: append(groups, auth.GroupAuthenticated)}
	return &rest.Config{Host: memoryHost, Transport: &localTransport{local: l, user: identity}, QPS: -1}
}

// KubeletsConfig returns the configuration of an in-process client of simulated kubelets. A
// request with the context of AsNode is made by the kubelet of that node, and every other by the
// user KubeletsUser.
func (l *Local) KubeletsConfig() *rest.Config {
	config := l.Config(KubeletsUser)
	config.Transport = &localTransport{local: l, user: &auth.User{Name: KubeletsUser, Groups: []string{auth.GroupAuthenticated}}, actAs: true}
	return config
}

// AsNode returns a context whose requests, with the configuration of KubeletsConfig, are made
// by the kubelet of a node, in additional groups.
func AsNode(ctx context.Context, node string, groups ...string) context.Context {
	user := auth.Node(node)
	user.Groups = append(user.Groups, groups...)
	return transport.WithActor(ctx, user)
}

// localTransport is the transport of the server, once there is one.
type localTransport struct {
	local *Local
	user  *auth.User
	actAs bool
	once  sync.Once
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *localTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	server := t.local.server.Load()
	if server == nil {
		if req.Body != nil {
			_ = req.Body.Close() // nothing was read
		}
		return nil, errNotListening
	}
	t.once.Do(func() { t.next = server.faulty(server.transport(t.user, true, t.actAs)) })
	return t.next.RoundTrip(req)
}

// PassesContext marks a transport whose handlers get the context of a request
// (cause.ContextPasser).
func (t *localTransport) PassesContext() {}

// CloseIdleConnections does nothing: there are no connections. client-go calls it.
func (t *localTransport) CloseIdleConnections() {}
