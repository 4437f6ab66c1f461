package remote

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
)

const (
	// answerTime is how long a client has to answer a ping before it is served anyway.
	answerTime = time.Second
	// streamsTime is how long a client that reads has to create its streams. It is less than a container runtime takes to start a process.
	streamsTime = 5 * time.Millisecond
)

// noticing is a ResponseWriter that notices when the client of a hijacked connection sends something.
type noticing struct {
	http.ResponseWriter
	conn net.Conn
	once sync.Once
	sent chan struct{} // closed when the client has sent something, or has gone
}

// Hijack implements http.Hijacker.
func (n *noticing) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	hijacker, ok := n.ResponseWriter.(http.Hijacker)
	if !ok {
		return nil, nil, errors.New("the connection cannot be taken over")
	}
	conn, buffered, err := hijacker.Hijack()
	if err != nil {
		return nil, nil, err
	}
	if buffered.Reader.Buffered() > 0 { // the client has not waited for the answer
		n.once.Do(func() { close(n.sent) })
	}
	n.conn = conn
	from := bufio.NewReader(&noticedReader{n, buffered.Reader})
	return conn, bufio.NewReadWriter(from, buffered.Writer), nil
}

// noticedReader reads from the client.
type noticedReader struct {
	*noticing
	from *bufio.Reader
}

// Read implements io.Reader.
func (r *noticedReader) Read(into []byte) (int, error) {
	n, err := r.from.Read(into)
	if n > 0 || err != nil {
		r.once.Do(func() { close(r.sent) })
	}
	return n, err
}

// awaitStreams gives the client time to create its streams. kubectl up to 1.32 begins to read at the same time, and discards what comes
// before ("Unknown stream id 1, discarding message"). So it is asked by a ping whether it reads, and gets a moment more. The caller has not
// written to the connection yet.
func (n *noticing) awaitStreams(ctx context.Context) {
	if _, err := n.conn.Write([]byte{0x89, 0}); err != nil { // RFC 6455, section 5.5.2
		return // the caller will notice, too
	}
	limit := clock.Real().NewTimer(answerTime)
	defer limit.Stop()
	select {
	case <-n.sent:
		_ = clock.Sleep(ctx, clock.Real(), streamsTime) // as above
	case <-limit.C():
	case <-ctx.Done():
	}
}
