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
type streamWriter struct {
	ended   <-chan struct{} // the stream's context has ended
	w       http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
	stop    func() bool

	mu     sync.Mutex
	closed bool
	err    error
}

func newStreamWriter(ctx context.Context, w http.ResponseWriter) *streamWriter {
	stall, _ := ctx.Value(stallKey{}).(time.Duration)
	s := &streamWriter{ended: ctx.Done(), w: w, control: http.NewResponseController(w), stall: stall}
	s.stop = context.AfterFunc(ctx, func() { s.allow(drainTime) })
	return s
}

// Write sends p at once.
func (s *streamWriter) Write(p []byte) (int, error) {
	if s.stall > 0 {
		s.allow(s.stall)
		select {
		case <-s.ended:
			s.allow(drainTime)
		default:
		}
	}
	n, err := s.w.Write(p)
	if err == nil {
		err = s.control.Flush()
	}
	s.err = err
	return n, err
}

// allow bounds the writes that are under way and those that follow.
func (s *streamWriter) allow(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		// A writer that knows no deadlines never stands still.
		_ = s.control.SetWriteDeadline(clock.Real().Now().Add(d))
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
