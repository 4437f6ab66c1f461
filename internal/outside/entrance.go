package outside

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/network/secure"
	"minikcm.dev/minikcm/internal/proxyserver"
	"minikcm.dev/minikcm/internal/relay"
	"minikcm.dev/minikcm/kubeletsim"
)

// The budgets of all connections together. Times are the machine's, as for everything on sockets.
const (
	maxConnections = 1024
	// requestTimeout bounds the time for a request after its header and for the answer of a simulated program.
	requestTimeout = 30 * time.Second
	// relayIdle bounds the time without a byte of a connection to a process.
	relayIdle = time.Hour
)

// entrance connects programs of this machine with the cluster.
type entrance struct {
	kubelets    *kubeletsim.Kubelets
	ledger      *clock.Ledger
	logger      klog.Logger
	connections *proxyserver.Connections
	// answers serves the connections to simulated programs.
	answers *proxyserver.Server
	// transport reaches processes of this machine.
	transport *http.Transport
}

// newEntrance returns an entrance whose connections end with ctx.
func newEntrance(ctx context.Context, cluster *minikcm.Cluster, logger klog.Logger) *entrance {
	e := &entrance{kubelets: cluster.Kubelets(), ledger: cluster.Ledger(), logger: logger, connections: proxyserver.NewConnections(maxConnections), transport: &http.Transport{
		DialContext:         func(ctx context.Context, _, address string) (net.Conn, error) { return relay.Dial(ctx, address) },
		MaxIdleConnsPerHost: 1, IdleConnTimeout: proxyserver.IdleTimeout,
	}}
	e.answers = proxyserver.NewServer(ctx, http.HandlerFunc(e.answer), logger, withPath, secure.Speak)
	return e
}

// close returns when all connections have ended. The context has ended, and nothing listens any more.
func (e *entrance) close() {
	e.answers.End()
	e.connections.Wait()
	e.transport.CloseIdleConnections()
}

// decide says where a TCP connection goes.
func (e *entrance) decide(ctx context.Context, host string, port int32) (*reach.Path, error) {
	defer inflight.Begin(e.ledger, inflight.Request).End()
	return e.kubelets.Enter(ctx, host, port, corev1.ProtocolTCP)
}

// processAt returns the address of the process of this machine that a path leads to; empty if it leads to none.
func processAt(path *reach.Path) string {
	if path.Listener == nil {
		return ""
	}
	return path.Listener.Process
}

// arrives reports whether something accepts a connection.
func arrives(path *reach.Path) bool { return path.Outcome == reach.Connected }

// join connects a connection with the end of its path, and returns when it has ended or net/http serves it.
func (e *entrance) join(ctx context.Context, conn net.Conn, path *reach.Path) {
	address := processAt(path)
	if address == "" {
		if path.Router != nil && path.Listener.TLS {
			e.answers.Give(e.routerTLS(&entered{conn, path}, path))
			return
		}
		e.answers.Give(secure.Server(&entered{conn, path}, e.certificate(path)))
		return
	}
	process, err := relay.Dial(ctx, address)
	if err != nil {
		proxyserver.Reset(conn)
		return
	}
	relay.Join(ctx, conn, process, relayIdle)
}

// certificate returns the source of a TLS server's certificate. It is in flight while it reads one.
func (e *entrance) certificate(path *reach.Path) secure.Source {
	source := e.kubelets.Certificate(path)
	if source == nil {
		return nil
	}
	return func(ctx context.Context) (*tls.Certificate, error) {
		work := inflight.Begin(e.ledger, inflight.Request)
		defer work.End()
		return source(inflight.With(ctx, work))
	}
}

// entered is a connection to a simulated program.
type entered struct {
	net.Conn
	path *reach.Path
}

type pathKey struct{}

// withPath adds the path of a connection to the context of its requests.
func withPath(ctx context.Context, conn net.Conn) context.Context {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	if c, ok := conn.(*entered); ok {
		return context.WithValue(ctx, pathKey{}, c.path)
	}
	return ctx
}

// answer serves a request over a connection that has a path.
func (e *entrance) answer(w http.ResponseWriter, r *http.Request) {
	path, ok := r.Context().Value(pathKey{}).(*reach.Path)
	if !ok {
		http.Error(w, "the connection leads nowhere", http.StatusBadGateway)
		return
	}
	e.serve(w, r, path)
}

// serve answers a request at the end of a path. It is in flight meanwhile, unless a process of this machine answers.
func (e *entrance) serve(w http.ResponseWriter, r *http.Request, path *reach.Path) {
	work := inflight.Begin(e.ledger, inflight.Request)
	defer work.End()
	r = r.WithContext(inflight.With(r.Context(), work))
	limit := clock.Real().Now().Add(requestTimeout) // as long as a client may hold virtual time
	deadlines := http.NewResponseController(w)
	_ = deadlines.SetReadDeadline(limit)
	_ = deadlines.SetWriteDeadline(limit)
	if path.Router != nil {
		e.kubelets.Forward(path, w, r, func(next *reach.Path, w http.ResponseWriter, r *http.Request) { e.send(deadlines, w, r, next) })
		return
	}
	e.send(deadlines, w, r, path)
}

// send answers a request by the server at the end of a path.
func (e *entrance) send(deadlines *http.ResponseController, w http.ResponseWriter, r *http.Request, path *reach.Path) {
	if address := processAt(path); address != "" {
		proxy := relay.HTTP(&url.URL{Scheme: "http", Host: address}, e.transport, func(w http.ResponseWriter, r *http.Request, err error) {
			code := http.StatusBadGateway
			if errors.Is(context.Cause(r.Context()), clock.ErrTimeout) {
				code = http.StatusGatewayTimeout
			}
			http.Error(w, err.Error(), code)
		})
		_ = deadlines.SetReadDeadline(time.Time{})
		_ = deadlines.SetWriteDeadline(time.Time{})
		waiting := inflight.PauserOf(r.Context())
		waiting.Pause()
		defer waiting.Resume()
		proxy.ServeHTTP(w, r)
		return
	}
	if from, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		r.RemoteAddr = netip.AddrPortFrom(path.Source.Address, from.Port()).String()
	}
	switch closer, ok := w.(interface{ Abort(reset bool) }); {
	case e.kubelets.ServeEntered(path, w, r):
	case ok:
		closer.Abort(false)
	default:
		panic(http.ErrAbortHandler) // closes the connection
	}
}
