package apiserver

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver/auth"
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
// as Server.Config does.
func (l *Local) Config(user string, groups ...string) *rest.Config {
	identity := &auth.User{Name: user, Groups: append(groups, auth.GroupAuthenticated)}
	return &rest.Config{Host: memoryHost, Transport: &localTransport{local: l, user: identity}, QPS: -1}
}

// localTransport is the transport of the server, once there is one.
type localTransport struct {
	local *Local
	user  *auth.User
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
	t.once.Do(func() { t.next = server.Transport(t.user) })
	return t.next.RoundTrip(req)
}

// CloseIdleConnections does nothing: there are no connections. client-go calls it.
func (t *localTransport) CloseIdleConnections() {}
