package slowclient

import (
	"context"
	"net/http"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
)

// drainTime is how long a client may take to read the rest of a watch that has ended.
// It is real time, as for all socket operations.
const drainTime = time.Second

type stallKey struct{}

// WithStall returns a context of a connection whose client may stall for up to d, in real
// time, before it is disconnected.
func WithStall(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, stallKey{}, d)
}

// Stream writes to a client that may have stopped reading. A write that stalls
// for longer than the socket's limit fails. Once ctx has ended, the client has
// drainTime left, so that the server's shutdown does not wait for it. There is no
// deadline between writes: HTTP/2 resets a stream whose deadline has passed even if
// nothing is being written.
type Stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
	stop    func() bool

	mu     sync.Mutex
	ended  bool // the stream's context
	closed bool
	err    error
}

// NewStream returns a writer to w that lasts as long as ctx, plus drainTime.
func NewStream(ctx context.Context, w http.ResponseWriter) *Stream {
	stall, _ := ctx.Value(stallKey{}).(time.Duration)
	s := &Stream{w: w, control: http.NewResponseController(w), stall: stall}
	s.stop = context.AfterFunc(ctx, s.drain)
	return s
}

// Write writes p and flushes it.
func (s *Stream) Write(p []byte) (int, error) {
	s.allow(s.stall)
	n, err := s.w.Write(p)
	if err == nil {
		err = s.control.Flush()
	}
	if s.err = err; err == nil {
		s.allow(0)
	}
	return n, err
}

// allow sets the deadline of the next write; 0 is none. The deadline set by drain
// stays.
func (s *Stream) allow(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed || s.ended || s.stall <= 0:
	case d > 0:
		// A writer without deadline support never stalls.
		_ = s.control.SetWriteDeadline(clock.Real().Now().Add(d))
	default:
		_ = s.control.SetWriteDeadline(time.Time{})
	}
}

// drain sets the deadline of everything written after the stream's end.
func (s *Stream) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if !s.closed {
		_ = s.control.SetWriteDeadline(clock.Real().Now().Add(drainTime))
	}
}

// End clears the deadline of the connection, unless it is broken.
func (s *Stream) End() {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.err == nil {
		_ = s.control.SetWriteDeadline(time.Time{})
	}
}
