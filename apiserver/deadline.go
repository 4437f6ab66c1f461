package apiserver

import (
	"context"
	"net/http"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
)

// drainTime is how long a client may take for the rest of a watch that has ended.
// It is the machine's time, as all that sockets do is.
const drainTime = time.Second

type stallKey struct{}

// withStall returns a context whose streams may stand still for d.
func withStall(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, stallKey{}, d)
}

// streamWriter writes to a client that may have stopped reading: a write that stands
// still for longer than the socket allows fails, and once ctx has ended the client
// has drainTime left, so that nobody who waits for the handler waits for the client.
// Between two writes there is no deadline: HTTP/2 resets a stream whose deadline has
// passed even if nothing is being written.
type streamWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
	stop    func() bool

	mu     sync.Mutex
	ended  bool // the stream's context
	closed bool
	err    error
}

func newStreamWriter(ctx context.Context, w http.ResponseWriter) *streamWriter {
	stall, _ := ctx.Value(stallKey{}).(time.Duration)
	s := &streamWriter{w: w, control: http.NewResponseController(w), stall: stall}
	s.stop = context.AfterFunc(ctx, s.drain)
	return s
}

// Write sends p at once.
func (s *streamWriter) Write(p []byte) (int, error) {
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

// allow bounds the write that follows; 0 is no bound. When the stream has ended, its
// bound stays.
func (s *streamWriter) allow(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed || s.ended || s.stall <= 0:
	case d > 0:
		// A writer that knows no deadlines never stands still.
		_ = s.control.SetWriteDeadline(clock.Real().Now().Add(d))
	default:
		_ = s.control.SetWriteDeadline(time.Time{})
	}
}

// drain bounds all that is written after the stream's end.
func (s *streamWriter) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if !s.closed {
		_ = s.control.SetWriteDeadline(clock.Real().Now().Add(drainTime))
	}
}

// end gives the connection back as it was, unless it is broken anyway.
func (s *streamWriter) end() {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.err == nil {
		_ = s.control.SetWriteDeadline(time.Time{})
	}
}
