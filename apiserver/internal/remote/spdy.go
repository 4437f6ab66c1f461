package remote

import (
	"fmt"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	remoteconsts "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"minikcm.dev/minikcm/clock"
)

func spdyProtocols() []string {
	return []string{remoteconsts.StreamProtocolV4Name, remoteconsts.StreamProtocolV3Name, remoteconsts.StreamProtocolV2Name, remoteconsts.StreamProtocolV1Name}
}

// arrived is a stream that the client has opened; replied is closed when the client has
// received the reply.
type arrived struct {
	httpstream.Stream
	replied <-chan struct{}
}

// openSPDY sends the error of a failed handshake itself and then returns nil, nil.
func openSPDY(w http.ResponseWriter, r *http.Request, o Options) (*connection, error) {
	protocol, err := httpstream.Handshake(r, w, spdyProtocols())
	if err != nil {
		return nil, nil // Handshake has sent the error
	}
	streams, done := make(chan arrived), make(chan struct{})
	defer close(done)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, replied <-chan struct{}) error {
		select {
		case streams <- arrived{stream, replied}:
			return nil
		case <-done:
			return fmt.Errorf("no more streams are expected")
		}
	})
	if conn == nil {
		return nil, nil // as above
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		<-conn.CloseChan()
	}()
	c := &connection{gone: gone}
	if !c.collect(streams, expected(o, protocol), o) {
		_ = conn.Close()
		return nil, nil // the connection is upgraded: no error response is possible
	}
	c.plain = protocol != remoteconsts.StreamProtocolV4Name
	var once sync.Once
	c.close = func() {
		once.Do(func() { _ = conn.Close() })
		<-gone
	}
	return c, nil
}

// expected returns the number of streams that the client will open.
func expected(o Options, protocol string) int {
	n := 1
	for _, wanted := range []bool{o.Stdin, o.Stdout, o.Stderr, o.TTY && resizes(protocol)} {
		if wanted {
			n++
		}
	}
	return n
}

func resizes(protocol string) bool {
	return protocol == remoteconsts.StreamProtocolV4Name || protocol == remoteconsts.StreamProtocolV3Name
}

// collect waits for the client's streams.
func (c *connection) collect(streams <-chan arrived, n int, o Options) bool {
	timeout := clock.Real().NewTimer(creationTime)
	defer timeout.Stop()
	for range n {
		select {
		case stream := <-streams:
			if !c.add(stream, o) {
				return false
			}
			// Closing the connection earlier would drop the reply.
			<-stream.replied
		case <-c.gone:
			return false
		case <-timeout.C():
			return false
		}
	}
	return c.status != nil
}

func (c *connection) add(stream arrived, o Options) bool {
	switch kind := stream.Headers().Get(corev1.StreamType); {
	case kind == corev1.StreamTypeError:
		c.status = stream
	case kind == corev1.StreamTypeStdin && o.Stdin:
		c.stdin = stream
	case kind == corev1.StreamTypeStdout && o.Stdout:
		c.stdout = stream
	case kind == corev1.StreamTypeStderr && o.Stderr:
		c.stderr = stream
	case kind == corev1.StreamTypeResize && o.TTY:
		c.resize = stream
	default:
		return false
	}
	return true
}
