package ui

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"
	"k8s.io/klog/v2"
)

const (
	// readHeaderTimeout and idleTimeout are in real time, with the API server's values.
	readHeaderTimeout = 32 * time.Second
	idleTimeout       = 90 * time.Second
	// maxHeader is the size of the headers of a request, in bytes.
	maxHeader = 32 << 10
	// maxConnections is the number of connections that are served at a time. A page has
	// about 20.
	maxConnections = 4096
)

// Options configure Listen.
type Options struct {
	// Port is the port on 127.0.0.1; 0 selects a free one.
	Port int
	// StyleSources are sources of inline styles to allow in the page's Content-Security-Policy.
	// Documents that the page opens in tabs of their own inherit this policy and need them.
	StyleSources []string
	Logger       klog.Logger
}

// Server serves the page until Close. Its methods may be called from several goroutines.
type Server struct {
	logger   klog.Logger
	policy   string
	address  string
	sessions *sessions
	upstream atomic.Pointer[upstream]
	server   *http.Server
	cancel   context.CancelFunc
	// connections counts the connections that net/http serves; requests counts requests, including
	// requests on upgraded connections.
	connections, requests sync.WaitGroup
	done                  chan struct{}
	closing               sync.Once
}

// Listen serves the page on the loopback interface. Until a cluster is attached by the
// Extension, requests to the API server are answered with 503.
func Listen(ctx context.Context, opts Options) (*Server, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(opts.Port)))
	if err != nil {
		return nil, fmt.Errorf("listening for the page: %w", err)
	}
	base, cancel := context.WithCancel(context.Background())
	s := &Server{
		logger: opts.Logger, policy: policy(opts.StyleSources), address: listener.Addr().String(), sessions: newSessions(),
		cancel: cancel, done: make(chan struct{}),
	}
	s.server = &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return base },
		ConnState:   s.countConnection,
		ErrorLog:    log.New(serverErrors{opts.Logger}, "", 0),
	}
	go func() {
		defer close(s.done)
		_ = s.server.Serve(netutil.LimitListener(listener, maxConnections)) // returns when it is closed
	}()
	return s, nil
}

// Link returns a new URL that opens a session once.
func (s *Server) Link() string { return s.link(false) }

// link is Link for a session that only looks, too.
func (s *Server) link(looks bool) string {
	return "http://" + s.address + openPath + "?token=" + s.sessions.newToken(looks)
}

// Address returns the IP address and port of the page.
func (s *Server) Address() string { return s.address }

// Close stops listening, cuts the connections, and returns when the requests and the
// connections have ended: net/http keeps a connection for half a second after it has refused
// the rest of a body. A nil Server has nothing to close.
func (s *Server) Close() {
	if s == nil {
		return
	}
	s.closing.Do(func() {
		s.cancel() // ends the upgraded connections, which the http.Server does not know
		_ = s.server.Close()
		<-s.done
		s.connections.Wait()
		s.requests.Wait()
		s.attach(nil)
	})
}

// countConnection is called by net/http, for a new connection before Serve returns.
func (s *Server) countConnection(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.connections.Add(1)
	case http.StateHijacked, http.StateClosed:
		s.connections.Done()
	case http.StateActive, http.StateIdle:
	}
}

// serverErrors receives net/http's log messages and logs them at verbosity 2.
type serverErrors struct{ logger klog.Logger }

func (w serverErrors) Write(line []byte) (int, error) {
	w.logger.V(2).Info("Serving the page", "error", string(line))
	return len(line), nil
}
