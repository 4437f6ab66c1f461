package transport

import (
	"bytes"
	"io"
	"os"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// pipeLimit is the number of unread bytes at which the writer of a pipe blocks. If the
// client does not read, the watch cache eventually ends the watcher.
const pipeLimit = 256 << 10

// pipe carries a streamed response to an in-process client. The ledger counts an event
// from the first unread byte until the client has read everything and calls Read again:
// clients read again only after they have passed on what they got. The end of the
// stream is counted until the client calls Close.
//
//	T1 server: Write("event"): counted
//	T2 client: Read returns "event"; still counted, the client is handling it
//	T3 client: puts the event into its own queue, which the ledger counts as well
//	T4 client: Read blocks: no longer counted here
//
// At every point from T1 on the ledger counts the event somewhere, so virtual time
// stands still.
type pipe struct {
	onClose func()

	mu       sync.Mutex
	changed  sync.Cond
	unread   []byte
	counted  inflight.Flag
	finished bool
	closed   bool
	err      error
	// deadline sets late; then Write no longer waits for the reader.
	deadline interface{ Stop() bool }
	late     bool
}

func newPipe(ledger *clock.Ledger) *pipe {
	p := &pipe{counted: inflight.NewFlag(ledger, inflight.Event)}
	p.changed.L = &p.mu
	return p
}

// Write blocks while the pipe is full. It fails once the client has closed the pipe.
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

// Read blocks until there is data or the stream has ended.
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

// Close is called by the client when it is done with the stream.
func (p *pipe) Close() error {
	p.abort(nil)
	if p.onClose != nil {
		p.onClose()
	}
	return nil
}

// abort ends the stream immediately; the reader gets err.
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

// setDeadline makes a Write that blocks beyond t (real time) fail.
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

// finish ends the stream on the server's side: the client can still read the unread
// data.
func (p *pipe) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished = true
	if !p.closed {
		p.counted.Set(true)
	}
	p.changed.Broadcast()
}

// readAll reads up to limit+1 bytes of a body into memory, so that it does not depend on
// its sender.
func readAll(body io.Reader, limit int64) (io.ReadCloser, error) {
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return nil, err
	}
	return &bytesBody{*bytes.NewReader(data)}, nil
}
