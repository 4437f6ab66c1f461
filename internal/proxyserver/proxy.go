package proxyserver

import (
	"bufio"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/network/reach"
)

// Route is where a connection of a client leads.
type Route interface {
	// Join connects a client's connection, and returns when it has ended or something else serves it.
	Join(ctx context.Context, conn net.Conn)
	// ServeHTTP answers a request.
	ServeHTTP(w http.ResponseWriter, r *http.Request)
	// Close ends a route that is not used.
	Close()
}

// RefusedError says why a connection does not arrive.
type RefusedError struct {
	Outcome reach.Outcome `json:"outcome"`
	Why     string        `json:"why"`
}

// Error implements error.
func (e *RefusedError) Error() string {
	if name := e.Outcome.Error(); name != "" {
		return name + ": " + e.Why
	}
	return e.Why
}

// Proxy serves HTTP requests with absolute URLs, CONNECT and SOCKS5 on one port.
type Proxy struct {
	Options
	listener net.Listener
	requests *Server
	done     chan struct{}
}

// Options configure a Proxy. All but Password are required.
type Options struct {
	// Connect makes a client's connection. A *RefusedError says that it does not arrive.
	Connect func(ctx context.Context, host string, port int32) (Route, error)
	// Connections bound the proxy's.
	Connections *Connections
	// Clients have to know the Password, unless it is empty. The user's name does not matter.
	Password string
	// About returns the answer to a request that is none for a proxy, which listens on the address.
	About  func(address string) string
	Logger klog.Logger
}

// Listen serves on a port of 127.0.0.1 until Close; 0 is a free one. Connections end with ctx.
func Listen(ctx context.Context, port int, opts Options) (*Proxy, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listening for the proxy: %w", err)
	}
	p := &Proxy{Options: opts, listener: listener, done: make(chan struct{})}
	p.requests = NewServer(ctx, p, opts.Logger, nil, nil)
	go func() {
		defer close(p.done)
		opts.Connections.Accept(ctx, listener, p.begin)
	}()
	return p, nil
}

// Close ends the proxy. Its context has ended.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	<-p.done
	p.requests.End()
}

// Address returns the address that the proxy listens on.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Port returns the port that the proxy listens on.
func (p *Proxy) Port() int {
	tcp, ok := p.listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0
	}
	return tcp.Port
}

// begin finds out which protocol a client speaks.
func (p *Proxy) begin(ctx context.Context, conn net.Conn) {
	in := &buffered{conn, bufio.NewReader(conn)}
	_ = conn.SetReadDeadline(clock.Real().Now().Add(headerTimeout))
	first, err := in.reader.Peek(1)
	if err != nil {
		_ = conn.Close()
		return
	}
	if first[0] == socksVersion {
		p.socks(ctx, in)
		return
	}
	p.requests.Give(in)
}

// buffered is a connection of which some bytes have been read.
type buffered struct {
	net.Conn
	reader *bufio.Reader
}

// Read implements net.Conn.
func (b *buffered) Read(p []byte) (int, error) { return b.reader.Read(p) }

// CloseWrite ends the direction to the client.
func (b *buffered) CloseWrite() error { return closeWrite(b.Conn) }

// NewBuffered returns a connection of which a reader has some bytes already.
func NewBuffered(conn net.Conn, reader *bufio.Reader) net.Conn { return &buffered{conn, reader} }

// ServeHTTP serves a request of a proxy's client.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tunnel := r.Method == http.MethodConnect
	if !tunnel && (r.URL.Scheme != "http" || r.URL.Host == "") {
		http.Error(w, p.About(p.Address()), http.StatusBadRequest)
		return
	}
	if !p.knows(r) {
		w.Header().Set("Proxy-Authenticate", `Basic realm="minikcm"`)
		http.Error(w, "minikcm: the proxy needs the password of the pod", http.StatusProxyAuthRequired)
		return
	}
	host, port, err := HostPort(r.URL.Host, !tunnel)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	route, err := p.connect(r.Context(), host, port)
	if err != nil {
		code := http.StatusServiceUnavailable
		var refused *RefusedError
		switch {
		case !errors.As(err, &refused):
		case refused.Outcome == reach.TimedOut:
			code = http.StatusGatewayTimeout
		default:
			code = http.StatusBadGateway
		}
		http.Error(w, err.Error(), code)
		return
	}
	if tunnel {
		p.tunnel(w, r, route)
		return
	}
	for _, hop := range []string{"Proxy-Connection", "Proxy-Authorization"} {
		r.Header.Del(hop)
	}
	r.URL.Scheme, r.URL.Host = "", ""
	r.RequestURI = r.URL.RequestURI()
	route.ServeHTTP(w, r)
}

// connect calls Connect. Its error says for which host.
func (p *Proxy) connect(ctx context.Context, host string, port int32) (Route, error) {
	route, err := p.Connect(ctx, host, port)
	if err != nil {
		return nil, fmt.Errorf("minikcm: %s: %w", net.JoinHostPort(host, strconv.Itoa(int(port))), err)
	}
	return route, nil
}

// knows reports whether a client knows the password.
func (p *Proxy) knows(r *http.Request) bool {
	if p.Password == "" {
		return true
	}
	given := &http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
	_, password, ok := given.BasicAuth()
	return ok && subtle.ConstantTimeCompare([]byte(password), []byte(p.Password)) == 1
}

// HostPort splits HOST:PORT. plain allows the port to be missing, and to be 80 then.
func HostPort(text string, plain bool) (host string, port int32, err error) {
	host, given, err := net.SplitHostPort(text)
	if err != nil && plain {
		host, given, err = net.SplitHostPort(net.JoinHostPort(trimBrackets(text), "80"))
	}
	if err != nil {
		return "", 0, fmt.Errorf("%q is not HOST:PORT", text)
	}
	number, err := strconv.ParseUint(given, 10, 16)
	if err != nil || number == 0 || host == "" {
		return "", 0, fmt.Errorf("%q is not HOST:PORT", text)
	}
	return host, int32(number), nil
}

// trimBrackets returns an IPv6 address without its brackets.
func trimBrackets(host string) string {
	if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		return host[1 : len(host)-1]
	}
	return host
}

// tunnel accepts a CONNECT.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request, route Route) {
	p.Connections.work.Add(1) // net/http does not count the connection any more
	defer p.Connections.work.Done()
	conn, buffer, err := http.NewResponseController(w).Hijack()
	if err != nil {
		route.Close()
		http.Error(w, "CONNECT needs HTTP/1.1", http.StatusHTTPVersionNotSupported)
		return
	}
	if _, err := conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		route.Close()
		_ = conn.Close()
		return
	}
	route.Join(r.Context(), &buffered{conn, buffer.Reader})
}
