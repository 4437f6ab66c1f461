package outside

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/network/secure"
	"minikcm.dev/minikcm/internal/relay"
	"minikcm.dev/minikcm/kubeletsim"
)

// The budgets of all connections together. Times are the machine's, as for everything on sockets.
const (
	maxConnections = 1024
	maxHeader      = 32 << 10
	// headerTimeout bounds the time for the header of a request, requestTimeout for the rest of it and for the answer of a simulated
	// program, and idleTimeout the time between two requests.
	headerTimeout  = 32 * time.Second
	requestTimeout = 30 * time.Second
	idleTimeout    = 90 * time.Second
	// relayIdle bounds the time without a byte of a connection to a process.
	relayIdle = time.Hour
)

// entrance connects programs of this machine with the cluster.
type entrance struct {
	kubelets *kubeletsim.Kubelets
	ledger   *clock.Ledger
	logger   klog.Logger
	// slots has an entry for each connection.
	slots chan struct{}
	// answers serves the connections to simulated programs.
	answers *server
	// transport reaches processes of this machine.
	transport *http.Transport
	// secrets reads the certificates of routers, and fallback is used where there is none.
	secrets  corev1client.SecretsGetter
	fallback fallbackCertificate
	work     sync.WaitGroup
}

// newEntrance returns an entrance whose connections end with ctx.
func newEntrance(ctx context.Context, cluster *minikcm.Cluster, logger klog.Logger) (*entrance, error) {
	client, err := corev1client.NewForConfig(cluster.ConfigFor(user, "system:masters"))
	if err != nil {
		return nil, fmt.Errorf("making the client for the certificates of Ingresses: %w", err)
	}
	e := &entrance{kubelets: cluster.Kubelets(), ledger: cluster.Ledger(), secrets: client, logger: logger, slots: make(chan struct{}, maxConnections), transport: &http.Transport{
		DialContext:         func(ctx context.Context, _, address string) (net.Conn, error) { return relay.Dial(ctx, address) },
		MaxIdleConnsPerHost: 1, IdleConnTimeout: idleTimeout,
	}}
	e.answers = e.newServer(ctx, http.HandlerFunc(e.answer))
	return e, nil
}

// close returns when all connections have ended. The context has ended, and nothing listens any more.
func (e *entrance) close() {
	e.answers.close()
	e.work.Wait()
	e.transport.CloseIdleConnections()
}

// accept calls serve for each connection of a listener, until the listener is closed. Connections beyond the budget are reset.
func (e *entrance) accept(ctx context.Context, listener net.Listener, serve func(context.Context, net.Conn)) {
	for {
		conn, err := listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // a client that is gone already, or no file descriptor is left
			if !pause(ctx) {
				return
			}
			continue
		}
		select {
		case e.slots <- struct{}{}:
		default:
			reset(conn)
			continue
		}
		counted := &slot{Conn: conn, free: sync.OnceFunc(func() { <-e.slots })}
		e.work.Go(func() {
			stop := context.AfterFunc(ctx, func() { _ = counted.Close() })
			defer stop()
			serve(ctx, counted)
		})
	}
}

// acceptRetry is the time after a failed Accept.
const acceptRetry = 10 * time.Millisecond

// pause waits after a failed Accept. It returns false if ctx ends meanwhile.
func pause(ctx context.Context) bool {
	timer := clock.Real().NewTimer(acceptRetry)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}

// slot is a connection within the budget.
type slot struct {
	net.Conn
	free func()
}

// Close implements net.Conn.
func (s *slot) Close() error {
	defer s.free()
	return s.Conn.Close()
}

// CloseWrite ends the direction to the client.
func (s *slot) CloseWrite() error {
	if half, ok := s.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// reset closes a connection so that the client gets an error.
func reset(conn net.Conn) {
	inner := conn
	if s, ok := conn.(*slot); ok {
		inner = s.Conn
	}
	if tcp, ok := inner.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// decide says where a connection goes.
func (e *entrance) decide(ctx context.Context, host string, port int32) (*reach.Path, error) {
	defer inflight.Begin(e.ledger, inflight.Request).End()
	return e.kubelets.Enter(ctx, host, port)
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
			e.answers.give(e.routerTLS(&entered{conn, path}, path))
			return
		}
		e.answers.give(secure.Server(&entered{conn, path}, e.certificate(path)))
		return
	}
	process, err := relay.Dial(ctx, address)
	if err != nil {
		reset(conn)
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

// forward lets a router forward a request: to the path that it returns, or nowhere if that is nil.
func (e *entrance) forward(path *reach.Path, w http.ResponseWriter, r *http.Request) (*reach.Path, http.ResponseWriter, *http.Request) {
	work := inflight.Begin(e.ledger, inflight.Request)
	defer work.End()
	return e.kubelets.Forward(path, w, r)
}

// entered is a connection to a simulated program.
type entered struct {
	net.Conn
	path *reach.Path
}

type pathKey struct{}

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
	deadlines := http.NewResponseController(w)
	if path.Router != nil {
		if path, w, r = e.forward(path, w, r); path == nil {
			return
		}
	}
	if address := processAt(path); address != "" {
		proxy := relay.HTTP(&url.URL{Scheme: "http", Host: address}, e.transport, func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		})
		_ = deadlines.SetWriteDeadline(time.Time{}) // a server's connection has deadlines
		proxy.ServeHTTP(w, r)
		return
	}
	limit := clock.Real().Now().Add(requestTimeout) // as long as a client may hold virtual time
	_ = deadlines.SetReadDeadline(limit)
	_ = deadlines.SetWriteDeadline(limit)
	work := inflight.Begin(e.ledger, inflight.Request)
	defer work.End()
	if from, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		r.RemoteAddr = netip.AddrPortFrom(path.Source.Address, from.Port()).String()
	}
	if !e.kubelets.ServeEntered(path, w, r.WithContext(inflight.With(r.Context(), work))) {
		panic(http.ErrAbortHandler) // closes the connection
	}
}
