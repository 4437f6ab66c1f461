package slowclient

import (
	"context"
	"sync"
	"time"

	"golang.org/x/net/websocket"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"minikcm.dev/minikcm/clock"
)

// Socket writes the frames of a watch, or the pieces of a log, as messages. A client that stops
// reading is disconnected, as by Stream.
type Socket struct {
	conn   *websocket.Conn
	stall  time.Duration
	binary bool
	skip   int
	stop   func() bool

	mu    sync.Mutex
	ended bool
}

// maxIgnored limits the messages of clients, which are ignored, in bytes.
const maxIgnored = 64 << 10

// ServeSocket lets send write to conn, and closes it then. The writer lasts as long as ctx, plus drainTime. Frames are binary messages
// if binary is set, otherwise text messages, without their first skip bytes. cancel, which ends ctx, is called when the client has gone.
func ServeSocket(ctx context.Context, cancel func(), conn *websocket.Conn, logger klog.Logger, binary bool, skip int, send func(*Socket)) {
	conn.MaxPayloadBytes = maxIgnored
	var reading sync.WaitGroup
	reading.Go(func() {
		defer cancel()
		wsstream.IgnoreReceivesWithLogger(logger.V(4), conn, 0)
	})
	stall, _ := ctx.Value(stallKey{}).(time.Duration)
	s := &Socket{conn: conn, stall: stall, binary: binary, skip: skip}
	s.stop = context.AfterFunc(ctx, s.drain)
	send(s)
	s.end()
	_ = conn.Close() // the client may have closed it already
	reading.Wait()
}

// Write sends one frame.
func (s *Socket) Write(frame []byte) (int, error) {
	s.allow()
	var err error
	if s.binary {
		err = websocket.Message.Send(s.conn, frame[s.skip:])
	} else {
		err = websocket.Message.Send(s.conn, string(frame[s.skip:]))
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

// end allows drainTime for closing the connection.
func (s *Socket) end() {
	s.stop()
	s.drain()
}
