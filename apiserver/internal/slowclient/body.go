package slowclient

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"minikcm.dev/minikcm/clock"
)

// bodyChunk is the part of a response that a client must read within the stall limit.
const bodyChunk = 256 << 10

// SendBody writes a response's body. A client that stops reading is disconnected, so
// that it neither keeps the body in memory nor occupies a slot of the requests in
// flight.
func SendBody(w http.ResponseWriter, r *http.Request, data []byte) {
	out := NewBody(w, r)
	// A write fails only if the client has disconnected.
	_, _ = out.Write(data)
	out.End()
}

// Body writes a response's body to a client that may have stopped reading. Unlike Stream
// it does not flush.
type Body struct {
	w       http.ResponseWriter
	control *http.ResponseController // nil if the client is in this process
	stall   time.Duration
	failed  bool
}

// NewBody returns a writer to w, the response to r. A request without a stall limit (of a
// client in this process) gets one without deadlines.
func NewBody(w http.ResponseWriter, r *http.Request) *Body {
	b := &Body{w: w}
	if b.stall, _ = r.Context().Value(stallKey{}).(time.Duration); b.stall > 0 {
		b.control = http.NewResponseController(w)
	}
	return b
}

// Write implements io.Writer.
func (b *Body) Write(data []byte) (int, error) {
	if b.control == nil {
		return b.w.Write(data)
	}
	written := 0
	for written < len(data) {
		_ = b.control.SetWriteDeadline(clock.Real().Now().Add(b.stall))
		n, err := b.w.Write(data[written:min(len(data), written+bodyChunk)])
		written += n
		if err != nil {
			b.failed = true
			return written, err
		}
	}
	return written, nil
}

// End clears the deadline of the connection, unless it is broken.
func (b *Body) End() {
	if b.control != nil && !b.failed {
		_ = b.control.SetWriteDeadline(time.Time{})
	}
}

// bodyReader reads from a client that may have stopped sending, or that sends too
// slowly to finish in time.
type bodyReader struct {
	r       io.Reader
	control *http.ResponseController
	stall   time.Duration
	last    time.Time // deadline of the whole body
}

// LimitBody returns a reader of the request's body that fails with ErrSlowBody if the
// client stops sending for longer than the stall limit, or needs longer than whole (real
// time) for the body. end clears the deadline of the connection.
func LimitBody(w http.ResponseWriter, r *http.Request, body io.Reader, whole time.Duration) (limited io.Reader, end func()) {
	stall, _ := r.Context().Value(stallKey{}).(time.Duration)
	if stall <= 0 {
		return body, func() {}
	}
	b := &bodyReader{r: body, control: http.NewResponseController(w), stall: stall, last: clock.Real().Now().Add(whole)}
	return b, func() { _ = b.control.SetReadDeadline(time.Time{}) }
}

// ErrSlowBody is returned if a client does not send its body in time.
var ErrSlowBody = errors.New("the body of the request did not come in time")

// Read implements io.Reader.
func (b *bodyReader) Read(into []byte) (int, error) {
	until := clock.Real().Now().Add(b.stall)
	if b.last.Before(until) {
		until = b.last
	}
	_ = b.control.SetReadDeadline(until)
	n, err := b.r.Read(into)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrSlowBody
	}
	return n, err
}
