package outside

import (
	"context"
	"crypto/tls"
	"log"
	"net"
	"net/http"
	"sync"
)

// server serves HTTP on connections that it is given.
type server struct {
	http  *http.Server
	given chan net.Conn
	// ended is closed with the server, and done when it accepts no more.
	ended, done chan struct{}
	end         sync.Once
	// connections counts those that net/http serves.
	connections sync.WaitGroup
}

func (e *entrance) newServer(ctx context.Context, handler http.Handler) *server {
	s := &server{given: make(chan net.Conn), ended: make(chan struct{}), done: make(chan struct{})}
	s.http = &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			if secured, ok := conn.(*tls.Conn); ok {
				conn = secured.NetConn()
			}
			if c, ok := conn.(*entered); ok {
				return context.WithValue(ctx, pathKey{}, c.path)
			}
			return ctx
		},
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				s.connections.Add(1)
			case http.StateHijacked, http.StateClosed:
				s.connections.Done()
			case http.StateActive, http.StateIdle:
			}
		},
		ErrorLog: log.New(logged{e.logger}, "", 0),
	}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(s) // returns when it is closed
	}()
	return s
}

// give passes a connection to net/http, or closes it with the server.
func (s *server) give(conn net.Conn) {
	select {
	case s.given <- conn:
	case <-s.ended:
		_ = conn.Close()
	}
}

// close ends the server and its connections.
func (s *server) close() {
	_ = s.Close()
	_ = s.http.Close()
	<-s.done
	s.connections.Wait()
}

// Accept implements net.Listener.
func (s *server) Accept() (net.Conn, error) {
	select {
	case conn := <-s.given:
		return conn, nil
	case <-s.ended:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (s *server) Close() error {
	s.end.Do(func() { close(s.ended) })
	return nil
}

// Addr implements net.Listener.
func (s *server) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
