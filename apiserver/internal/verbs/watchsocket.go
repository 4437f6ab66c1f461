package verbs

import (
	"context"
	"sync"

	"golang.org/x/net/websocket"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/slowclient"
)

// watchesBySocket reports whether a watch is served over a WebSocket.
func (rq *Call) watchesBySocket() bool { return wsstream.IsWebSocketRequest(rq.HTTP) }

// serveSocket accepts a WebSocket and lets send write frames to it until the watch ends
// or the client closes it. Each event is one message, a text message if its media type
// is text. As upstream, it requires an Origin header and accepts at most one
// subprotocol, which it echoes.
func (rq *Call) serveSocket(ctx context.Context, cancel context.CancelFunc, send func(context.Context, frameWriter)) error {
	w, err := response.Hijackable(rq.Writer)
	if err != nil {
		return err
	}
	websocket.Handler(func(conn *websocket.Conn) {
		conn.MaxPayloadBytes = maxIgnored
		var reading sync.WaitGroup
		reading.Go(func() {
			defer cancel()
			wsstream.IgnoreReceivesWithLogger(rq.backend.Logger.V(4), conn, 0)
		})
		out := newSocket(ctx, conn, rq.Target.Media)
		send(ctx, frameWriter{Writer: out, single: true})
		out.End()
		_ = conn.Close() // the client may have closed it already
		reading.Wait()
	}).ServeHTTP(w, rq.HTTP)
	return nil
}

// newSocket returns a writer of messages in a media type. A message needs no length prefix, which frames of protobuf have.
func newSocket(ctx context.Context, conn *websocket.Conn, media codec.Media) *slowclient.Socket {
	if media == codec.Protobuf {
		return slowclient.NewSocket(ctx, conn, true, lengthPrefix)
	}
	return slowclient.NewSocket(ctx, conn, false, 0)
}

// lengthPrefix is the number of bytes of the length prefix of a frame.
const lengthPrefix = 4

// maxIgnored limits the messages of clients, which are ignored.
const maxIgnored = 64 << 10
