package proxyserver

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
)

// Connections are the connections that a process serves, at most a number of them.
type Connections struct {
	// slots has an entry for each connection.
	slots chan struct{}
	work  sync.WaitGroup
}

// NewConnections returns a set of at most limit connections.
func NewConnections(limit int) *Connections {
	return &Connections{slots: make(chan struct{}, limit)}
}

// Accept calls serve for each connection of a listener, until the listener is closed. Connections end with ctx; those beyond the limit
// are reset.
func (c *Connections) Accept(ctx context.Context, listener net.Listener, serve func(context.Context, net.Conn)) {
	for {
		conn, err := listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // a client that is gone already, or no file descriptor is left
			if clock.Sleep(ctx, clock.Real(), acceptRetry) != nil {
				return
			}
		default:
			c.Serve(ctx, conn, serve)
		}
	}
}

// Serve calls serve for one connection, as Accept does.
func (c *Connections) Serve(ctx context.Context, conn net.Conn, serve func(context.Context, net.Conn)) {
	select {
	case c.slots <- struct{}{}:
	default:
		Reset(conn)
		return
	}
	counted := &slot{Conn: conn, free: sync.OnceFunc(func() { <-c.slots })}
	c.work.Go(func() {
		stop := context.AfterFunc(ctx, func() { _ = counted.Close() })
		defer stop()
		serve(ctx, counted)
	})
}

// Wait returns when the calls of serve have ended. Nothing listens any more, and the context of the connections has ended.
func (c *Connections) Wait() { c.work.Wait() }

// acceptRetry is the time after a failed Accept.
const acceptRetry = 10 * time.Millisecond

// slot is a connection within the limit.
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
func (s *slot) CloseWrite() error { return closeWrite(s.Conn) }

func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Reset closes a connection so that the client gets an error.
func Reset(conn net.Conn) {
	inner := conn
	if s, ok := conn.(*slot); ok {
		inner = s.Conn
	}
	if tcp, ok := inner.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
