package proxyserver

import (
	"context"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// The budgets of a client of HTTP. Times are the machine's, as for everything on sockets.
const (
	maxHeader = 32 << 10
	// headerTimeout bounds the time for the header of a request, and IdleTimeout the time between two requests.
	headerTimeout = 32 * time.Second
	IdleTimeout   = 90 * time.Second
)

// Server serves HTTP on connections that it is given.
type Server struct {
	http  *http.Server
	given chan net.Conn
	// ended is closed with the server, and done when it accepts no more.
	ended, done chan struct{}
	end         sync.Once
	// connections counts those that net/http serves.
	connections sync.WaitGroup
}

// NewServer returns a server whose requests have ctx, and what connContext, which may be nil, adds to it for their connection. prepare,
// which may be nil, too, changes net/http's server before it serves.
func NewServer(ctx context.Context, handler http.Handler, logger klog.Logger, connContext func(context.Context, net.Conn) context.Context, prepare func(*http.Server)) *Server {
	s := &Server{given: make(chan net.Conn), ended: make(chan struct{}), done: make(chan struct{})}
	s.http = &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: IdleTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx }, ConnContext: connContext,
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				s.connections.Add(1)
			case http.StateHijacked, http.StateClosed:
				s.connections.Done()
			case http.StateActive, http.StateIdle:
			}
		},
		ErrorLog: log.New(logged{logger}, "", 0),
	}
	if prepare != nil {
		prepare(s.http)
	}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(s) // returns when it is closed
	}()
	return s
}

// Give passes a connection to net/http, or closes it with the server.
func (s *Server) Give(conn net.Conn) {
	select {
	case s.given <- conn:
	case <-s.ended:
		_ = conn.Close()
	}
}

// End ends the server and its connections.
func (s *Server) End() {
	_ = s.Close()
	_ = s.http.Close()
	<-s.done
	s.connections.Wait()
}

// Accept implements net.Listener.
func (s *Server) Accept() (net.Conn, error) {
	select {
	case conn := <-s.given:
		return conn, nil
	case <-s.ended:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (s *Server) Close() error {
	s.end.Do(func() { close(s.ended) })
	return nil
}

// Addr implements net.Listener.
func (s *Server) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
