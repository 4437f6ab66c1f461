package apiserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/apiserver/serviceip"
)

// ListenOptions say where the handler chain is served over HTTPS.
type ListenOptions struct {
	// Address is the IP address to listen on; empty is 127.0.0.1.
	Address string
	// Port 0 lets the machine choose a free one.
	Port int
	// Authority signs the serving certificate, and is who clients' certificates
	// must come from.
	Authority *auth.Authority
	// Stall is for how long a client may leave unread what it is sent, or leave out
	// what it has begun to send, of the machine's time, before it is cut off. 0 is 30
	// seconds.
	Stall time.Duration
}

const (
	// defaultStall, like all that follows, is the machine's time.
	defaultStall = 30 * time.Second
	// readHeaderTimeout and idleTimeout are upstream's: less than what a request may
	// take, and as long as net/http's clients keep connections.
	readHeaderTimeout = 32 * time.Second
	idleTimeout       = 90 * time.Second
	pingAfter         = 30 * time.Second
	pingTimeout       = 15 * time.Second
)

// HTTPS is the apiserver's socket.
type HTTPS struct {
	listener net.Listener
	server   *http.Server
	done     chan struct{}
}

// servingNames are the names by which upstream's certificates let an apiserver be
// called, beside its addresses.
var servingNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}

// Listen serves the handler chain over HTTPS (HTTP/1.1 and HTTP/2) until Close.
func (s *Server) Listen(ctx context.Context, opts ListenOptions) (*HTTPS, error) {
	if opts.Address == "" {
		opts.Address = "127.0.0.1"
	}
	advertised := s.advertised(opts.Address)
	names := []string{opts.Address, "127.0.0.1", "::1", serviceip.ServiceIP(s.serviceRanges()[0]).String(), advertised.String()}
	pair, err := opts.Authority.Server(append(names, servingNames...)...)
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(opts.Address, strconv.Itoa(opts.Port))
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listening on %s: the port is in use; choose another with --port, or leave it out for a free one: %w", address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", address, err)
	}
	clients := auth.NewClientCertificates(opts.Authority)
	h := &HTTPS{
		listener: listener,
		done:     make(chan struct{}),
		server: &http.Server{
			Handler:           s.handler,
			ReadHeaderTimeout: readHeaderTimeout,
			IdleTimeout:       idleTimeout,
			// They find a connection whose other end is gone without a word.
			HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
			BaseContext: func(net.Listener) context.Context {
				return withStall(auth.WithClientCertificates(context.Background(), clients), cmp.Or(opts.Stall, defaultStall))
			},
			ErrorLog: log.New(httpErrors{s.opts.Logger}, "", 0),
			TLSConfig: &tls.Config{
				MinVersion:   tls.VersionTLS12,
				Certificates: []tls.Certificate{pair.TLS()},
				ClientCAs:    clients.Pool(),
				// Requests with a certificate that is refused are answered, with a Status.
				ClientAuth: tls.RequestClientCert,
			},
		},
	}
	s.advertiseAt(ctx, advertised, listener.Addr())
	s.inFlight.cutWith(func() { _ = h.server.Close() })
	go func() {
		defer close(h.done)
		// It returns when the server is shut down, and never for another reason
		// that a caller could mend.
		_ = h.server.ServeTLS(boundedListener{listener}, "", "")
	}()
	return h, nil
}

// sendBuffer is what the system keeps for a client that does not read: enough for a
// fast one, where the system's own choice can grow to megabytes for each.
const sendBuffer = 128 << 10

// boundedListener bounds the send buffers of the connections that it accepts.
type boundedListener struct{ net.Listener }

// Accept implements net.Listener.
func (l boundedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, isTCP := conn.(*net.TCPConn); isTCP && err == nil {
		_ = tcp.SetWriteBuffer(sendBuffer) // without it, the connection works as well
	}
	return conn, err
}

// Address is the IP address and port that is listened on.
func (h *HTTPS) Address() string { return h.listener.Addr().String() }

// shutdownTime is how long open connections may take to end, of the machine's time.
// Those of HTTP/2 linger for a second after their last request, for which nobody
// need wait.
const shutdownTime = 200 * time.Millisecond

// Close stops listening and ends the connections. Close the Server first: it ends
// the watches, which otherwise are cut off after a while.
func (h *HTTPS) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	if err := h.server.Shutdown(ctx); err != nil {
		_ = h.server.Close()
	}
	<-h.done
}

// httpErrors takes what net/http logs, such as a client that does not trust the
// certificate: of interest only to who looks for it.
type httpErrors struct{ logger klog.Logger }

func (w httpErrors) Write(line []byte) (int, error) {
	w.logger.V(2).Info("HTTPS", "error", string(line))
	return len(line), nil
}
