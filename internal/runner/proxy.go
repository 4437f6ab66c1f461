package runner

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/outside"
	"minikcm.dev/minikcm/internal/proxyserver"
	"minikcm.dev/minikcm/internal/relay"
)

const (
	// maxConnections bounds the connections of the command through its proxy.
	maxConnections = 256
	// proxyIdle bounds the time without a byte of such a connection.
	proxyIdle = time.Hour
)

// podProxy is the proxy through which the command connects as its pod does. Each connection is one to the API server, whose process
// decides where it goes.
type podProxy struct {
	config      *rest.Config
	connections *proxyserver.Connections
	listener    *proxyserver.Proxy
	end         context.CancelFunc
	// pod is the one that the command stands for; nil: there is none yet.
	pod atomic.Pointer[types.NamespacedName]
}

// listenProxy serves a proxy until close. Only who knows its password may use it.
func listenProxy(ctx context.Context, config *rest.Config) (*podProxy, error) {
	ctx, end := context.WithCancel(ctx)
	p := &podProxy{config: config, connections: proxyserver.NewConnections(maxConnections), end: end}
	var err error
	p.listener, err = proxyserver.Listen(ctx, 0, proxyserver.Options{
		Connections: p.connections, Connect: p.connect, Password: rand.Text(), Logger: klog.Background(),
		About: func(string) string {
			return "This is the proxy of a command of minikcm run-deployment to the network of the cluster"
		},
	})
	if err != nil {
		end()
		return nil, err
	}
	return p, nil
}

func (p *podProxy) close() {
	p.end()
	p.listener.Close()
	p.connections.Wait()
}

// variables returns the environment that lets programs use the proxy, except for this machine and the API server.
func (p *podProxy) variables() map[string]string {
	at := func(scheme string) string {
		return (&url.URL{Scheme: scheme, User: url.UserPassword("pod", p.listener.Password), Host: p.listener.Address()}).String()
	}
	direct := "localhost,127.0.0.1,::1"
	if server, err := url.Parse(p.config.Host); err == nil && !strings.Contains(direct, server.Hostname()) {
		direct += "," + server.Hostname()
	}
	vars := map[string]string{}
	for name, value := range map[string]string{"HTTP_PROXY": at("http"), "HTTPS_PROXY": at("http"), "ALL_PROXY": at("socks5h"), "NO_PROXY": direct} {
		vars[name], vars[strings.ToLower(name)] = value, value
	}
	return vars
}

// connect makes a connection of the pod. One that leads out of the cluster is made from here.
func (p *podProxy) connect(ctx context.Context, host string, port int32) (proxyserver.Route, error) {
	pod := p.pod.Load()
	if pod == nil {
		return nil, errors.New("the command stands for no pod")
	}
	to := net.JoinHostPort(host, strconv.Itoa(int(port)))
	conn, err := p.enter(ctx, *pod, to)
	var refused *proxyserver.RefusedError
	if errors.As(err, &refused) && refused.Outcome == reach.Unknown {
		conn, err = relay.Dial(ctx, to)
	}
	if err != nil {
		return nil, err
	}
	return &route{conn, to}, nil
}

// enter asks for a connection in the cluster's network.
func (p *podProxy) enter(ctx context.Context, pod types.NamespacedName, to string) (net.Conn, error) {
	server, err := url.Parse(p.config.Host)
	if err != nil {
		return nil, err
	}
	secure, err := rest.TLSConfigFor(p.config)
	if err != nil {
		return nil, err
	}
	dial := &upgrade{tls: secure}
	transport, err := rest.HTTPWrappersForConfig(p.config, dial)
	if err != nil {
		return nil, err
	}
	at := server.JoinPath(outside.PodPath(pod))
	at.RawQuery = url.Values{"to": {to}}.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", outside.Protocol)
	rs, err := transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if rs.StatusCode == http.StatusSwitchingProtocols {
		return dial.conn, nil
	}
	defer dial.conn.Close()
	body, err := io.ReadAll(io.LimitReader(rs.Body, 1<<16))
	if err != nil {
		return nil, err
	}
	refused := &proxyserver.RefusedError{}
	if rs.StatusCode == http.StatusConflict && json.Unmarshal(body, refused) == nil && refused.Outcome != "" {
		return nil, refused
	}
	return nil, fmt.Errorf("the API server answers %s: %s", rs.Status, body)
}

// upgrade is a transport for one request, which keeps the connection.
type upgrade struct {
	tls  *tls.Config
	conn net.Conn
}

// RoundTrip implements http.RoundTripper.
func (u *upgrade) RoundTrip(r *http.Request) (*http.Response, error) {
	var err error
	if u.tls == nil {
		u.conn, err = relay.Dial(r.Context(), r.URL.Host)
	} else {
		config := u.tls.Clone()
		config.NextProtos = []string{"http/1.1"}
		u.conn, err = (&tls.Dialer{Config: config}).DialContext(r.Context(), "tcp", r.URL.Host)
	}
	if err != nil {
		return nil, err
	}
	reader := bufio.NewReader(u.conn)
	rs, err := (*http.Response)(nil), r.Write(u.conn)
	if err == nil {
		rs, err = http.ReadResponse(reader, r)
	}
	if err != nil {
		return nil, errors.Join(err, u.conn.Close())
	}
	u.conn = proxyserver.NewBuffered(u.conn, reader)
	return rs, nil
}

// route is a connection that was made for the command.
type route struct {
	conn net.Conn
	to   string
}

// Join implements proxyserver.Route.
func (r *route) Join(ctx context.Context, client net.Conn) {
	relay.Join(ctx, client, r.conn, proxyIdle)
}

// ServeHTTP implements proxyserver.Route.
func (r *route) ServeHTTP(w http.ResponseWriter, rq *http.Request) {
	defer r.Close()
	once := &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) { return r.conn, nil }}
	relay.HTTP(&url.URL{Scheme: "http", Host: r.to}, once, func(w http.ResponseWriter, _ *http.Request, err error) {
		http.Error(w, "minikcm: "+r.to+": "+err.Error(), http.StatusBadGateway)
	}).ServeHTTP(w, rq)
}

// Close implements proxyserver.Route.
func (r *route) Close() { _ = r.conn.Close() }
