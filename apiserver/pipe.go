package apiserver

import (
	"bytes"
	"io"
	"os"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/inflight"
)

// pipeLimit is how many unread bytes a pipe holds before its writer waits. A
// watcher whose client does not read is dropped by the watch cache in the end.
const pipeLimit = 256 << 10

// pipe carries a streamed answer to an in-process client. From the first unread
// byte until the client has come back for more, an event is in flight: a client
// comes back only when it has handed on all that it got. The stream's end is in
// flight until the client has closed it.
type pipe struct {
	onClose func()

	mu       sync.Mutex
	changed  sync.Cond
	unread   []byte
	counted  inflight.Flag
	finished bool
	closed   bool
	err      error
	// deadline makes late true: then nobody waits for the reader any more.
	deadline interface{ Stop() bool }
	late     bool
}

func newPipe(ledger *clock.Ledger) *pipe {
	p := &pipe{counted: inflight.NewFlag(ledger, inflight.Event)}
	p.changed.L = &p.mu
	return p
}

// Write waits while the pipe is full. It fails once the client has gone.
func (p *pipe) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.unread) >= pipeLimit && !p.closed && !p.late {
		p.changed.Wait()
	}
	switch {
	case p.closed:
		return 0, io.ErrClosedPipe
	case len(p.unread) >= pipeLimit:
		return 0, os.ErrDeadlineExceeded
	}
	if len(data) > 0 {
		p.counted.Set(true)
	}
	p.unread = append(p.unread, data...)
	p.changed.Broadcast()
	return len(data), nil
}

// Read waits until there is something to read or the stream is over.
func (p *pipe) Read(into []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.unread) == 0 || p.closed {
		switch {
		case p.err != nil:
			return 0, p.err
		case p.closed:
			return 0, io.ErrClosedPipe
		case p.finished:
			return 0, io.EOF
		}
		p.counted.Set(false)
		p.changed.Wait()
	}
	n := copy(into, p.unread)
	p.unread = p.unread[n:]
	if len(p.unread) == 0 {
		p.unread = p.unread[:0:0]
		p.changed.Broadcast()
	}
	return n, nil
}

// Close is the client's end of the stream.
func (p *pipe) Close() error {
	p.abort(nil)
	if p.onClose != nil {
		p.onClose()
	}
	return nil
}

// abort ends the stream at once; the reader gets err.
func (p *pipe) abort(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.finished && err != nil {
		return
	}
	p.closed, p.err = true, err
	p.unread = nil
	p.counted.Set(false)
	p.changed.Broadcast()
}

// setDeadline makes a Write that waits beyond t, of the machine's time, fail.
func (p *pipe) setDeadline(t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deadline != nil {
		p.deadline.Stop()
		p.deadline = nil
	}
	p.late = false
	if t.IsZero() || p.closed || p.finished {
		return
	}
	p.deadline = clock.Real().AfterFunc(t.Sub(clock.Real().Now()), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.late = true
		p.changed.Broadcast()
	})
}

// finish is the server's end of the stream: what is unread can still be read.
func (p *pipe) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished = true
	if !p.closed {
		p.counted.Set(true)
	}
	p.changed.Broadcast()
}

// readAll makes a body that no longer depends on its sender.
func readAll(body io.Reader) (io.ReadCloser, error) {
	data, err := io.ReadAll(io.LimitReader(body, maxBodyBytes+1))
	if err != nil {
		return nil, err
	}
	return &bytesBody{*bytes.NewReader(data)}, nil
}
