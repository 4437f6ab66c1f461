package slowclient

import (
	"context"
	"sync"
	"time"

	"golang.org/x/net/websocket"

	"minikcm.dev/minikcm/clock"
)

// Socket writes the frames of a watch as messages. A client that stops reading is
// disconnected, as by Stream.
type Socket struct {
	conn   *websocket.Conn
	stall  time.Duration
	binary bool
	stop   func() bool

	mu    sync.Mutex
	ended bool
}

// NewSocket returns a writer to conn that lasts as long as ctx, plus drainTime. Frames are
// binary messages without their length prefix if binary is set, otherwise text messages.
func NewSocket(ctx context.Context, conn *websocket.Conn, binary bool) *Socket {
	stall, _ := ctx.Value(stallKey{}).(time.Duration)
	s := &Socket{conn: conn, stall: stall, binary: binary}
	s.stop = context.AfterFunc(ctx, s.drain)
	return s
}

// lengthPrefix is the number of bytes of a binary frame's length prefix, which is
// redundant in a message.
const lengthPrefix = 4

// Write sends one frame.
func (s *Socket) Write(frame []byte) (int, error) {
	s.allow()
	var err error
	if s.binary {
		err = websocket.Message.Send(s.conn, frame[lengthPrefix:])
	} else {
		err = websocket.Message.Send(s.conn, string(frame))
	}
	if err != nil {
		return 0, err
	}
	return len(frame), nil
}

// allow sets the deadline of the next write.
func (s *Socket) allow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stall > 0 && !s.ended {
		_ = s.conn.SetWriteDeadline(clock.Real().Now().Add(s.stall))
	}
}

// drain sets the deadline of everything written after the watch's end.
func (s *Socket) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	_ = s.conn.SetWriteDeadline(clock.Real().Now().Add(drainTime))
}

// End allows drainTime for closing the connection.
func (s *Socket) End() {
	s.stop()
	s.drain()
}
