package outside

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/network/reach"
)

// proxy serves HTTP requests with absolute URLs, CONNECT and SOCKS5 on one port.
type proxy struct {
	*entrance
	address  string
	listener net.Listener
	requests *server
	done     chan struct{}
}

// listenProxy serves on a port of 127.0.0.1; 0 is a free one.
func (e *entrance) listenProxy(ctx context.Context, port int) (*proxy, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listening for the proxy: %w", err)
	}
	p := &proxy{entrance: e, listener: listener, address: listener.Addr().String(), done: make(chan struct{})}
	p.requests = e.newServer(ctx, p)
	go func() {
		defer close(p.done)
		e.accept(ctx, listener, p.begin)
	}()
	return p, nil
}

func (p *proxy) close() {
	_ = p.listener.Close()
	<-p.done
	p.requests.close()
}

// port returns the port that the proxy listens on.
func (p *proxy) port() int {
	tcp, ok := p.listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0
	}
	return tcp.Port
}

// begin finds out which protocol a client speaks.
func (p *proxy) begin(ctx context.Context, conn net.Conn) {
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
	p.requests.give(in)
}

// buffered is a connection of which some bytes have been read.
type buffered struct {
	net.Conn
	reader *bufio.Reader
}

// Read implements net.Conn.
func (b *buffered) Read(p []byte) (int, error) { return b.reader.Read(p) }

// CloseWrite ends the direction to the client.
func (b *buffered) CloseWrite() error {
	if half, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return http.ErrNotSupported
}

// ServeHTTP serves a request of a proxy's client.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tunnel := r.Method == http.MethodConnect
	if !tunnel && (r.URL.Scheme != "http" || r.URL.Host == "") {
		http.Error(w, fmt.Sprintf("This is a proxy to the network of a cluster: curl --proxy http://%s http://SERVICE.NAMESPACE.svc", p.address), http.StatusBadRequest)
		return
	}
	host, port, err := hostPort(r.URL.Host, !tunnel)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	path, err := p.decide(r.Context(), host, port)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if !arrives(path) {
		code := http.StatusBadGateway
		if path.Outcome == reach.TimedOut {
			code = http.StatusGatewayTimeout
		}
		http.Error(w, refusal(host, port, path), code)
		return
	}
	if tunnel {
		p.tunnel(w, r, path)
		return
	}
	for _, hop := range []string{"Proxy-Connection", "Proxy-Authorization"} {
		r.Header.Del(hop)
	}
	r.URL.Scheme, r.URL.Host = "", ""
	r.RequestURI = r.URL.RequestURI()
	p.serve(w, r, path)
}

// refusal says why a connection does not arrive.
func refusal(host string, port int32, path *reach.Path) string {
	text := fmt.Sprintf("minikcm: %s", net.JoinHostPort(host, strconv.Itoa(int(port))))
	if name := path.Outcome.Error(); name != "" {
		text += ": " + name
	}
	return text + ": " + path.Why
}

// hostPort splits HOST:PORT. plain allows the port to be missing, and to be 80 then.
func hostPort(text string, plain bool) (host string, port int32, err error) {
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
func (p *proxy) tunnel(w http.ResponseWriter, r *http.Request, path *reach.Path) {
	p.work.Add(1) // net/http does not count the connection any more
	defer p.work.Done()
	conn, buffer, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "CONNECT needs HTTP/1.1", http.StatusHTTPVersionNotSupported)
		return
	}
	if _, err := conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		_ = conn.Close()
		return
	}
	p.join(r.Context(), &buffered{conn, buffer.Reader}, path)
}
