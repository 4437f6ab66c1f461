package shell

import (
	"context"
	"io"
	"sync"
	"syscall"
)

// pipeSize is the number of bytes that a pipe holds, as on Linux.
const pipeSize = 64 << 10

// Pipe is a pipe in memory. Both ends are counted, so that several shells may hold one: a reader sees the
// end after the last writer has closed, a writer fails with EPIPE after the last reader has.
type Pipe struct {
	memory Memory
	// limit is the number of bytes at which writers wait; 0: never.
	limit int

	mu      sync.Mutex
	changed chan struct{}
	data    []byte
	readers int
	writers int
}

// NewPipe returns a pipe with one reader and one writer.
func NewPipe(memory Memory) *Pipe {
	return &Pipe{memory: memory, limit: pipeSize, changed: make(chan struct{}), readers: 1, writers: 1}
}

func (p *Pipe) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// wait waits for a change. It requires the lock, and returns with it.
func (p *Pipe) wait(ctx context.Context) error {
	changed := p.changed
	p.mu.Unlock()
	defer p.mu.Lock()
	defer TurnOf(ctx).Await(changed, ctx.Done())()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ReadContext implements Reader.
func (p *Pipe) ReadContext(ctx context.Context, into []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.data) == 0 {
		if p.writers == 0 {
			return 0, io.EOF
		}
		if err := p.wait(ctx); err != nil {
			return 0, err
		}
	}
	n := copy(into, p.data)
	p.drop(n)
	p.announce()
	return n, nil
}

// drop removes the first bytes. It requires the lock.
func (p *Pipe) drop(n int) {
	p.data = p.data[n:]
	p.memory.Release(int64(n))
	if len(p.data) == 0 {
		p.data = nil
	}
}

// WriteContext implements Writer.
func (p *Pipe) WriteContext(ctx context.Context, data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	written := 0
	for len(data) > 0 {
		for p.limit > 0 && len(p.data) >= p.limit && p.readers > 0 {
			if err := p.wait(ctx); err != nil {
				return written, err
			}
		}
		if p.readers == 0 {
			return written, syscall.EPIPE
		}
		n := len(data)
		if p.limit > 0 {
			n = min(n, p.limit-len(p.data))
		}
		if err := p.memory.Reserve(int64(n)); err != nil {
			return written, err
		}
		p.data = append(p.data, data[:n]...)
		data, written = data[n:], written+n
		p.announce()
	}
	return written, nil
}

// all waits until the last writer has closed, and returns what is in the pipe, which stays reserved.
func (p *Pipe) all(ctx context.Context) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.writers > 0 {
		if err := p.wait(ctx); err != nil {
			return nil, err
		}
	}
	data := p.data
	p.data = nil
	return data, nil
}

// reader and writer count the ends of a pipe.
type (
	pipeReader struct{ *Pipe }
	pipeWriter struct{ *Pipe }
)

func (p pipeReader) retain() { p.add(&p.readers, 1) }
func (p pipeReader) Close() error {
	p.add(&p.readers, -1)
	return nil
}
func (p pipeWriter) retain() { p.add(&p.writers, 1) }
func (p pipeWriter) Close() error {
	p.add(&p.writers, -1)
	return nil
}

func (p *Pipe) add(count *int, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*count += n
	if p.readers == 0 {
		p.drop(len(p.data))
	}
	p.announce()
}
