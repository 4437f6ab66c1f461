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
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver/internal/serviceip"
	"minikcm.dev/minikcm/apiserver/internal/slowclient"
	"minikcm.dev/minikcm/internal/auth"
)

// ListenOptions configure Listen.
type ListenOptions struct {
	// Address is the IP address to listen on; empty is 127.0.0.1. 0.0.0.0 means all IPv4
	// addresses of the machine, and :: all addresses of both families.
	Address string
	// Port 0 selects a free port.
	Port int
	// Authority signs the serving certificate and must have signed clients' certificates.
	Authority *auth.Authority
	// Certificate is the serving certificate; nil: Authority issues one.
	Certificate *tls.Certificate
	// Stall limits how long a client may stop reading a response, or stop sending a
	// request that it has begun, in real time, before it is disconnected. 0 means 30
	// seconds.
	Stall time.Duration
}

const (
	// defaultStall and the durations below are real time.
	defaultStall = 30 * time.Second
	// readHeaderTimeout and idleTimeout are upstream's: shorter than the longest request,
	// and as long as net/http's clients keep idle connections.
	readHeaderTimeout = 32 * time.Second
	idleTimeout       = 90 * time.Second
	pingAfter         = 30 * time.Second
	pingTimeout       = 15 * time.Second
)

// HTTPS is a listener that serves the API over HTTPS.
type HTTPS struct {
	listener net.Listener
	server   *http.Server
	done     chan struct{}
}

// servingNames are the DNS names in upstream's serving certificates.
var servingNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}

// Listen serves the handler chain over HTTPS (HTTP/1.1 and HTTP/2) until Close.
func (s *Server) Listen(ctx context.Context, opts ListenOptions) (*HTTPS, error) {
	if opts.Address == "" {
		opts.Address = "127.0.0.1"
	}
	advertised := s.services.Advertised(opts.Address)
	certificate, err := s.servingCertificate(opts, advertised)
	if err != nil {
		return nil, err
	}
	s.serving.Store(certificate)
	address := net.JoinHostPort(opts.Address, strconv.Itoa(opts.Port))
	var config net.ListenConfig
	listener, err := config.Listen(ctx, family(opts.Address), address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listening on %s: the port is in use; choose another with --port, or leave it out for a free one: %w", address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", address, err)
	}
	clients := auth.NewClientCertificates(opts.Authority, s.authn.ClientAuthorities()...)
	// A client shows a certificate only if its authority is in the server's list.
	authorities := clients.Pool().Clone()
	for _, authority := range s.authn.ProxyAuthorities() {
		authorities.AddCert(authority)
	}
	h := &HTTPS{
		listener: listener,
		done:     make(chan struct{}),
		server: &http.Server{
			Handler:           s.handler,
			ReadHeaderTimeout: readHeaderTimeout,
			IdleTimeout:       idleTimeout,
			// Pings detect connections whose peer has disappeared.
			HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
			BaseContext: func(net.Listener) context.Context {
				return slowclient.WithStall(auth.WithClientCertificates(context.Background(), clients), cmp.Or(opts.Stall, defaultStall))
			},
			ErrorLog: log.New(httpErrors{s.opts.Logger}, "", 0),
			TLSConfig: &tls.Config{
				MinVersion:   tls.VersionTLS12,
				Certificates: []tls.Certificate{*certificate},
				ClientCAs:    authorities,
				// A request with an untrusted certificate gets a Status as the response,
				// so the handshake does not verify it.
				ClientAuth: tls.RequestClientCert,
			},
		},
	}
	if err := s.startFlow(); err != nil {
		_ = listener.Close()
		return nil, err
	}
	s.services.AdvertiseAt(ctx, advertised, listener.Addr())
	s.inFlight.CutWith(func() { _ = h.server.Close() })
	go func() {
		defer close(h.done)
		// Serve returns when the server is shut down; callers could not act on any other
		// error.
		_ = h.server.ServeTLS(slowclient.Listener{Listener: listener}, "", "")
	}()
	return h, nil
}

// servingCertificate returns the certificate of the options, or a new one with all names
// under which clients reach the server.
func (s *Server) servingCertificate(opts ListenOptions, advertised netip.Addr) (*tls.Certificate, error) {
	if opts.Certificate != nil {
		return opts.Certificate, nil
	}
	names := append(reachedAt(opts.Address), "127.0.0.1", "::1", serviceip.ServiceIP(s.services.Ranges()[0]).String(), advertised.String())
	pair, err := opts.Authority.Server(append(names, servingNames...)...)
	if err != nil {
		return nil, err
	}
	certificate := pair.TLS()
	return &certificate, nil
}

// Certificate returns the certificate that the server presents: the one that it listens with or, if it does not listen, one for the same
// names.
func (s *Server) Certificate(opts ListenOptions) (*tls.Certificate, error) {
	if certificate := s.serving.Load(); certificate != nil {
		return certificate, nil
	}
	opts.Address = cmp.Or(opts.Address, "127.0.0.1")
	certificate, err := s.servingCertificate(opts, s.services.Advertised(opts.Address))
	if err != nil {
		return nil, fmt.Errorf("making the serving certificate: %w", err)
	}
	s.serving.CompareAndSwap(nil, certificate)
	return s.serving.Load(), nil
}

// family returns the network to listen on. For Go, "tcp" on 0.0.0.0 includes IPv6.
func family(address string) string {
	if ip, err := netip.ParseAddr(address); err == nil && ip.Is4() {
		return "tcp4"
	}
	return "tcp"
}

// reachedAt returns the addresses at which clients reach a server that listens on address:
// address itself or, if it is unspecified, the addresses of the machine's interfaces.
func reachedAt(address string) []string {
	ip, err := netip.ParseAddr(address)
	if err != nil || !ip.IsUnspecified() {
		return []string{address}
	}
	// Without the interfaces, the certificate has the loopback addresses.
	interfaces, _ := net.InterfaceAddrs()
	var addresses []string
	for _, i := range interfaces {
		if prefix, err := netip.ParsePrefix(i.String()); err == nil && (prefix.Addr().Is4() || ip.Is6()) {
			addresses = append(addresses, prefix.Addr().WithZone("").String())
		}
	}
	return addresses
}

// Address returns the IP address and port for clients on this machine: the ones that it
// listens on or, as upstream, the loopback address if it listens on all addresses.
func (h *HTTPS) Address() string {
	at, err := netip.ParseAddrPort(h.listener.Addr().String())
	if err != nil || !at.Addr().IsUnspecified() {
		return h.listener.Addr().String()
	}
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if at.Addr().Is6() {
		loopback = netip.IPv6Loopback()
	}
	return netip.AddrPortFrom(loopback, at.Port()).String()
}

// shutdownTime limits the wait for open connections to end, in real time. HTTP/2
// connections linger for a second after their last request, which Close need not wait for.
const shutdownTime = 200 * time.Millisecond

// Close stops listening and closes the connections. Close the Server first: that ends its
// watches, which are otherwise cut off after shutdownTime.
func (h *HTTPS) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	if err := h.server.Shutdown(ctx); err != nil {
		_ = h.server.Close()
	}
	<-h.done
}

// httpErrors receives net/http's log messages, such as a client that does not trust the
// certificate, and logs them at verbosity 2.
type httpErrors struct{ logger klog.Logger }

func (w httpErrors) Write(line []byte) (int, error) {
	w.logger.V(2).Info("HTTPS", "error", string(line))
	return len(line), nil
}
