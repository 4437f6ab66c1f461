package box

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// maxConnections bounds the connections of a program that listens, with those that it has not accepted yet.
const maxConnections = 128

// Socket is a port on which a program of a container listens.
type Socket struct {
	mu sync.Mutex
	// waits wakes the program that accepts; nil: none waits.
	waits *inflight.Latch
	queue []*end
	// open counts the connections that the program has not closed.
	open   int
	closed bool
}

// connect makes a connection from peer: what the programs send arrives after there, and after back. The error is ECONNREFUSED.
func (s *Socket) connect(c clock.Clock, peer netip.AddrPort, there, back time.Duration) (client *end, err error) {
	to, from := &flow{clock: c, delay: there, size: flowSize}, &flow{clock: c, delay: back, size: flowSize}
	server := &end{in: to, out: from, peer: peer, closed: s.release}
	if !s.offer(server) {
		return nil, syscall.ECONNREFUSED
	}
	return &end{in: from, out: to}, nil
}

// Converse sends data from peer to the program, and returns what the program answers until it closes the connection. The caller, which closes the
// answer, is not in flight while it reads. The error is ECONNREFUSED, or the cause of ctx's end.
func (s *Socket) Converse(ctx context.Context, peer netip.AddrPort, data []byte) (io.ReadCloser, error) {
	client, err := s.connect(nil, peer, 0, 0)
	if err != nil {
		return nil, err
	}
	client.out.size = 0
	if _, err = client.out.write(ctx, data); err != nil && !errors.Is(err, syscall.EPIPE) { // after EPIPE, there may be an answer
		client.close(true)
		return nil, err
	}
	client.finish()
	return answerReader{readerFunc(func(into []byte) (int, error) { return client.in.read(ctx, into) }), client}, nil
}

// Knock makes a connection and closes it. The error is ECONNREFUSED.
func (s *Socket) Knock() error {
	client, err := s.connect(nil, netip.AddrPort{}, 0, 0)
	if err == nil {
		client.close(false)
	}
	return err
}

// answerReader reads from a connection.
type answerReader struct {
	io.Reader
	*end
}

// Close implements io.Closer.
func (r answerReader) Close() error {
	r.close(false)
	return nil
}

// offer gives a connection to the program; false: it does not listen.
func (s *Socket) offer(c *end) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.open >= maxConnections {
		return false
	}
	s.open++
	s.queue = append(s.queue, c)
	if s.waits != nil {
		s.waits.Open()
		s.waits = nil
	}
	return true
}

func (s *Socket) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
}

// accept returns the next connection, or the cause of ctx's end.
func (s *Socket) accept(ctx context.Context) (*end, error) {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			c := s.queue[0]
			s.queue = s.queue[1:]
			s.mu.Unlock()
			return c, nil
		}
		latch := &inflight.Latch{}
		s.waits = latch
		s.mu.Unlock()
		if err := latch.Wait(ctx); err != nil {
			return nil, err
		}
	}
}

// Listens reports whether the program still listens.
func (s *Socket) Listens() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closed
}

// close ends the socket. Connections that were not accepted are reset.
func (s *Socket) close() {
	s.mu.Lock()
	s.closed = true
	left := s.queue
	s.queue = nil
	s.mu.Unlock()
	for _, c := range left {
		c.close(true)
	}
}
