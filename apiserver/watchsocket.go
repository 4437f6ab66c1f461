package apiserver

import (
	"context"
	"sync"
	"time"

	"golang.org/x/net/websocket"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"minikcm.dev/minikcm/apiserver/codec"
	"minikcm.dev/minikcm/clock"
)

// watchesBySocket reports whether a watch is served over a WebSocket.
func (rq *request) watchesBySocket() bool { return wsstream.IsWebSocketRequest(rq.r) }

// serveSocket accepts a WebSocket and lets send write frames to it until the watch ends
// or the client closes it. Each event is one message, a text message if its media type
// is text. As upstream, it requires an Origin header and accepts at most one
// subprotocol, which it echoes.
func (rq *request) serveSocket(ctx context.Context, cancel context.CancelFunc, send func(context.Context, frameWriter)) error {
	w, err := hijackable(rq.w)
	if err != nil {
		return err
	}
	stall, _ := ctx.Value(stallKey{}).(time.Duration)
	websocket.Handler(func(conn *websocket.Conn) {
		conn.MaxPayloadBytes = maxIgnored
		var reading sync.WaitGroup
		reading.Go(func() {
			defer cancel()
			wsstream.IgnoreReceivesWithLogger(rq.server.opts.Logger.V(4), conn, 0)
		})
		out := newSocketWriter(ctx, conn, stall, rq.target.Media)
		send(ctx, frameWriter{Writer: out, single: true})
		out.end()
		_ = conn.Close() // the client may have closed it already
		reading.Wait()
	}).ServeHTTP(w, rq.r)
	return nil
}

// maxIgnored limits the messages of clients, which are ignored.
const maxIgnored = 64 << 10

// socketWriter writes the frames of a watch as messages. A client that stops reading is
// disconnected, as by streamWriter.
type socketWriter struct {
	conn   *websocket.Conn
	stall  time.Duration
	binary bool
	stop   func() bool

	mu    sync.Mutex
	ended bool
}

func newSocketWriter(ctx context.Context, conn *websocket.Conn, stall time.Duration, media codec.Media) *socketWriter {
	s := &socketWriter{conn: conn, stall: stall, binary: media == codec.Protobuf}
	s.stop = context.AfterFunc(ctx, s.drain)
	return s
}

// lengthPrefix is the number of bytes of a binary frame's length prefix, which is
// redundant in a message.
const lengthPrefix = 4

// Write sends one frame.
func (s *socketWriter) Write(frame []byte) (int, error) {
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
func (s *socketWriter) allow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stall > 0 && !s.ended {
		_ = s.conn.SetWriteDeadline(clock.Real().Now().Add(s.stall))
	}
}

// drain sets the deadline of everything written after the watch's end.
func (s *socketWriter) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	_ = s.conn.SetWriteDeadline(clock.Real().Now().Add(drainTime))
}

// end allows drainTime for closing the connection.
func (s *socketWriter) end() {
	s.stop()
	s.drain()
}
