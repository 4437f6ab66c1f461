package box

import (
	"context"
	"net/netip"
	"sync"
	"syscall"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// maxBacklog bounds the connections that a program has not accepted yet.
const maxBacklog = 128

// Socket is a port on which a program of a container listens. Each connection is one exchange: what the client sends until it ends or
// waits for an answer, and what the program answers.
//
//	the program            keys counted   the client
//	accept: pause          1              Converse
//	                       2              Converse: the program counts again
//	                       1              waits for the answer
//	reply                  2              the client counts again
//
// So no time passes between the two, unless the program lets it pass.
type Socket struct {
	mu sync.Mutex
	// waits wakes the program that accepts; nil: none waits.
	waits  *inflight.Latch
	queue  []*conversation
	closed bool
	// ledger counts a connection that the program accepts until the program begins to answer it, or has answered: other parts of its
	// command may sleep, which otherwise lets time pass. Nil: nothing is counted.
	ledger *clock.Ledger
}

// count lets the ledger count connections that were not answered.
func (s *Socket) count(l *clock.Ledger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ledger = l
}

// conversation is a connection.
type conversation struct {
	peer netip.AddrPort
	sent []byte
	once sync.Once
	done inflight.Latch
	// work counts it; see Socket.
	work   *inflight.Work
	answer []byte
	err    error
}

// reply ends the connection. Only the first call has an effect.
func (c *conversation) reply(answer []byte, err error) {
	c.once.Do(func() {
		c.answer, c.err = answer, err
		c.done.Open()
		c.work.End()
	})
}

// Converse connects to the program, and returns its answer to what a client sends. The client is not in flight while it waits. The error
// is ECONNREFUSED or ECONNRESET, or the cause of ctx's end.
func (s *Socket) Converse(ctx context.Context, peer netip.AddrPort, sent []byte) ([]byte, error) {
	c := &conversation{peer: peer, sent: sent}
	if !s.offer(c) {
		return nil, syscall.ECONNREFUSED
	}
	if err := c.done.Wait(ctx); err != nil {
		return nil, err
	}
	return c.answer, c.err
}

// offer gives a connection to the program; false: it does not listen.
func (s *Socket) offer(c *conversation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.queue) >= maxBacklog {
		return false
	}
	s.queue = append(s.queue, c)
	if s.waits != nil {
		c.work = inflight.Begin(s.ledger, inflight.Action)
		s.waits.Open()
		s.waits = nil
	}
	return true
}

// accept returns the next connection, or the cause of ctx's end.
func (s *Socket) accept(ctx context.Context) (*conversation, error) {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			c := s.queue[0]
			s.queue = s.queue[1:]
			if c.work == nil { // it has waited for an earlier one
				c.work = inflight.Begin(s.ledger, inflight.Action)
			}
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
		c.reply(nil, syscall.ECONNRESET)
	}
}
