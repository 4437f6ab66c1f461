package verbs

import (
	"context"

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
	binary, skip := false, 0
	if rq.Target.Media == codec.Protobuf {
		binary, skip = true, lengthPrefix
	}
	websocket.Handler(func(conn *websocket.Conn) {
		slowclient.ServeSocket(ctx, cancel, conn, rq.backend.Logger, binary, skip, func(out *slowclient.Socket) {
			send(ctx, frameWriter{Writer: out, single: true})
		})
	}).ServeHTTP(w, rq.HTTP)
	return nil
}

// lengthPrefix is the number of bytes of the length prefix of a frame of protobuf, which a message does not need.
const lengthPrefix = 4
