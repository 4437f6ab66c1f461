package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	portforward "k8s.io/apimachinery/pkg/util/portforward"
	clientforward "k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"minikcm.dev/minikcm/clock"
)

// PortOptions configure ServePorts.
type PortOptions struct {
	// Pod and UID are included in errors.
	Pod, UID string
	// Ports are the ports that the URL names. Clients with SPDY name theirs within the connection.
	Ports []int32
	// Forward serves one connection to a port until it ends or ctx ends.
	Forward func(ctx context.Context, port uint16, conn io.ReadWriteCloser) error
}

// ServePorts upgrades the request's connection to one that carries any number of
// connections to ports: SPDY, SPDY tunnelled through a WebSocket, or a WebSocket with channels, which has one connection
// to each port of the URL. It returns when the
// client has closed it, or the request's context has ended. It returns an error only
// before it has sent a response.
func ServePorts(w http.ResponseWriter, r *http.Request, o PortOptions) error {
	p := &ports{PortOptions: o, pairs: map[string]*pair{}, streams: make(chan arrived), done: make(chan struct{})}
	var conn httpstream.Connection
	var err error
	switch {
	case wsstream.IsWebSocketRequestWithTunnelingProtocol(r):
		conn, err = p.tunnel(w, r)
	case wsstream.IsWebSocketRequest(r):
		return p.channels(w, r)
	case httpstream.IsUpgradeRequest(r):
		if _, err = httpstream.Handshake(r, w, []string{portforward.PortForwardV1Name}); err == nil {
			conn = spdy.NewResponseUpgrader().UpgradeResponse(w, r, p.received)
		}
	default:
		return ErrNoUpgrade
	}
	if err != nil || conn == nil {
		return nil // the upgrade has sent the error
	}
	p.serve(r.Context(), conn)
	return nil
}

const tunnelProtocol = portforward.WebsocketsSPDYTunnelingPrefix + portforward.PortForwardV1Name

// tunnel upgrades to a WebSocket whose messages are the bytes of a SPDY connection.
func (p *ports) tunnel(w http.ResponseWriter, r *http.Request) (httpstream.Connection, error) {
	upgrader := websocket.Upgrader{Subprotocols: []string{tunnelProtocol}, CheckOrigin: func(*http.Request) bool { return true }}
	if !slices.Contains(websocket.Subprotocols(r), tunnelProtocol) {
		err := fmt.Errorf("unable to upgrade: only the subprotocol %s is supported", tunnelProtocol)
		http.Error(w, err.Error(), http.StatusForbidden)
		return nil, err
	}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return nil, err
	}
	return spdy.NewServerConnection(clientforward.NewTunnelingConnection("server", conn), p.received)
}

// ports is one client's connection.
type ports struct {
	PortOptions
	streams chan arrived
	done    chan struct{}
	pairs   map[string]*pair
	serving sync.WaitGroup
}

// pair is the two streams of a connection to a port.
type pair struct{ data, errors *arrived }

// received validates a stream that the client opens.
func (p *ports) received(stream httpstream.Stream, replied <-chan struct{}) error {
	if _, err := portOf(stream); err != nil {
		return err
	}
	switch kind := stream.Headers().Get(corev1.StreamType); kind {
	case "":
		return fmt.Errorf("%q header is required", corev1.StreamType)
	case corev1.StreamTypeError, corev1.StreamTypeData:
	default:
		return fmt.Errorf("invalid stream type %q", kind)
	}
	select {
	case p.streams <- arrived{stream, replied}:
		return nil
	case <-p.done:
		return errors.New("the connection is closed")
	}
}

func portOf(stream httpstream.Stream) (uint16, error) {
	text := stream.Headers().Get(corev1.PortHeader)
	if text == "" {
		return 0, fmt.Errorf("%q header is required", corev1.PortHeader)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("unable to parse %q as a port: %w", text, err)
	}
	if port < 1 {
		return 0, fmt.Errorf("port %q must be > 0", text)
	}
	return uint16(port), nil
}

// serve pairs the streams until the connection is closed. It drops a stream whose
// counterpart does not arrive in time.
func (p *ports) serve(ctx context.Context, conn httpstream.Connection) {
	ctx, cancel := context.WithCancel(ctx)
	defer p.serving.Wait()
	defer cancel()
	defer conn.Close() // the client may have closed it before
	defer close(p.done)
	expired := clock.Real().NewTimer(time.Hour)
	defer expired.Stop()
	for {
		select {
		case <-conn.CloseChan():
			return
		case <-ctx.Done():
			return
		case <-expired.C():
			for id, half := range p.pairs {
				half.remove(conn)
				delete(p.pairs, id)
			}
		case stream := <-p.streams:
			id := requestID(stream)
			joined := p.pairs[id]
			if joined == nil {
				joined = &pair{}
				p.pairs[id] = joined
				expired.Reset(creationTime)
			}
			if stream.Headers().Get(corev1.StreamType) == corev1.StreamTypeData {
				joined.data = &stream
			} else {
				joined.errors = &stream
			}
			if joined.data != nil && joined.errors != nil {
				delete(p.pairs, id)
				p.serving.Go(func() {
					p.forward(ctx, joined)
					joined.remove(conn)
				})
			}
		}
	}
}

// requestID returns the ID that the two streams of a pair share. Old clients send none:
// their streams arrive in order.
func requestID(stream httpstream.Stream) string {
	if id := stream.Headers().Get(corev1.PortForwardRequestIDHeader); id != "" {
		return id
	}
	id := int(stream.Identifier())
	if stream.Headers().Get(corev1.StreamType) == corev1.StreamTypeData {
		id -= 2
	}
	return strconv.Itoa(id)
}

// remove removes the streams from the connection.
func (p *pair) remove(conn httpstream.Connection) {
	for _, half := range []*arrived{p.data, p.errors} {
		if half != nil {
			conn.RemoveStreams(half.Stream)
		}
	}
}

func (p *ports) forward(ctx context.Context, joined *pair) {
	defer joined.data.Close()   // the client may have disconnected
	defer joined.errors.Close() // as above
	// A client treats data on a stream as an error before it has received the stream's
	// reply.
	<-joined.data.replied
	<-joined.errors.replied
	port, err := portOf(joined.data)
	if err == nil {
		err = p.Forward(ctx, port, joined.data)
	}
	if err == nil {
		return
	}
	_, _ = io.Copy(joined.errors, strings.NewReader(p.failure(port, err)))
	// Data sent to the port is lost: the client must reconnect.
	_ = joined.data.Reset()
}
