package outside

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/proxyserver"
)

// listenProxy serves a proxy on a port of 127.0.0.1; 0 is a free one.
func (e *entrance) listenProxy(ctx context.Context, port int) (*proxyserver.Proxy, error) {
	return proxyserver.Listen(ctx, port, proxyserver.Options{
		Connections: e.connections, Logger: e.logger,
		Connect: func(ctx context.Context, host string, port int32) (proxyserver.Route, error) {
			path, err := e.decide(ctx, host, port)
			return e.route(path, err)
		},
		About: func(address string) string {
			return fmt.Sprintf("This is a proxy to the network of a cluster: curl --proxy http://%s http://SERVICE.NAMESPACE.svc", address)
		},
	})
}

// route returns where a connection goes that was decided. Its error is a *proxyserver.RefusedError if it does not arrive.
func (e *entrance) route(path *reach.Path, err error) (proxyserver.Route, error) {
	switch {
	case err != nil:
		return nil, err
	case !arrives(path):
		return nil, &proxyserver.RefusedError{Outcome: path.Outcome, Why: path.Why}
	}
	return route{e, path}, nil
}

// route is the way of a connection into the cluster.
type route struct {
	entrance *entrance
	path     *reach.Path
}

// Join implements proxyserver.Route.
func (r route) Join(ctx context.Context, conn net.Conn) { r.entrance.join(ctx, conn, r.path) }

// ServeHTTP implements proxyserver.Route.
func (r route) ServeHTTP(w http.ResponseWriter, rq *http.Request) { r.entrance.serve(w, rq, r.path) }

// Close implements proxyserver.Route.
func (route) Close() {}
