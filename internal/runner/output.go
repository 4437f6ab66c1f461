package runner

import (
	"bytes"
	"io"
	"sync"
)

// maxUnsent limits the output that the cluster has not taken yet, in bytes. Output beyond it is
// not in the container's log.
const maxUnsent = 1 << 20

// outputBuffer passes the command's output on to the container's log. A write never waits.
type outputBuffer struct {
	mu     sync.Mutex
	more   sync.Cond
	unsent bytes.Buffer
	closed bool
}

func newOutputBuffer() *outputBuffer {
	b := &outputBuffer{}
	b.more.L = &b.mu
	return b
}

// Write implements io.Writer.
func (b *outputBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed && b.unsent.Len()+len(p) <= maxUnsent {
		b.unsent.Write(p)
		b.more.Broadcast()
	}
	return len(p), nil
}

// Read implements io.Reader. It waits for output, or Close.
func (b *outputBuffer) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.unsent.Len() == 0 {
		if b.closed {
			return 0, io.EOF
		}
		b.more.Wait()
	}
	return b.unsent.Read(p)
}

// Close lets Read return io.EOF at the end of the output.
func (b *outputBuffer) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.more.Broadcast()
}
