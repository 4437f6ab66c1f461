package streaming

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"slices"

	"golang.org/x/net/websocket"

	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/slowclient"
)

const (
	// binaryMessages is the subprotocol of a log in binary messages, which is also the default.
	binaryMessages = "binary.k8s.io"
	// base64Messages is the subprotocol of a log in messages of text.
	base64Messages = "base64.binary.k8s.io"
)

// logBySocket sends a log over a WebSocket, as upstream does: an empty message, and then one for each piece of the log. It ends with
// the log, with ctx, or when the client closes the socket.
func (s *Server) logBySocket(ctx context.Context, rq *Request, write func(context.Context, io.Writer) error) error {
	w, err := response.Hijackable(rq.Writer)
	if err != nil {
		return err
	}
	ctx, cancel := s.untilStopped(ctx)
	defer cancel()
	websocket.Server{Handshake: chooseMessages, Handler: func(conn *websocket.Conn) {
		text := slices.Contains(conn.Config().Protocol, base64Messages)
		slowclient.ServeSocket(ctx, cancel, conn, s.opts.Logger, !text, 0, func(out *slowclient.Socket) {
			messages := io.Writer(out)
			if text {
				messages = base64Writer{out}
			}
			if _, err := messages.Write(nil); err == nil {
				_ = write(ctx, messages) // the response has begun, so an error can only truncate it
			}
		})
	}}.ServeHTTP(w, rq.HTTP)
	return nil
}

// chooseMessages accepts the first subprotocol that is known. It is an error if the client offers others only.
func chooseMessages(config *websocket.Config, _ *http.Request) error {
	if len(config.Protocol) == 0 {
		return nil
	}
	at := slices.IndexFunc(config.Protocol, func(name string) bool { return name == "" || name == binaryMessages || name == base64Messages })
	if at < 0 {
		return websocket.ErrBadWebSocketProtocol
	}
	config.Protocol = []string{config.Protocol[at]}
	return nil
}

// base64Writer encodes each piece of a log by itself.
type base64Writer struct{ to io.Writer }

func (w base64Writer) Write(p []byte) (int, error) {
	if _, err := w.to.Write([]byte(base64.StdEncoding.EncodeToString(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
