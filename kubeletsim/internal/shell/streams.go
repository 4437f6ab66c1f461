package shell

import (
	"context"
	"errors"
	"io"
	"syscall"
)

// stream is an open file of a shell. A nil stream is closed.
type stream struct {
	in  Reader
	out Writer
	// ends counts the shells that have the pipe behind it open; nil for anything else.
	ends interface {
		retain()
		io.Closer
	}
	// file is closed with the last use, which does nothing for files in memory.
	file File
}

// share returns the stream for a further shell.
func (f *stream) share() *stream {
	if f == nil {
		return nil
	}
	if f.ends != nil {
		f.ends.retain()
	}
	c := *f
	return &c
}

func (f *stream) close() {
	if f != nil && f.ends != nil {
		_ = f.ends.Close()
		f.ends = nil
	}
}

func (f *stream) write(ctx context.Context, data string) error {
	if f == nil || f.out == nil {
		return syscall.EBADF
	}
	if data == "" {
		return nil
	}
	_, err := f.out.WriteContext(ctx, []byte(data))
	return err
}

func (f *stream) print(ctx context.Context, data string) { _ = f.write(ctx, data) }

// reader returns the input; nil if there is none.
func (f *stream) reader() Reader {
	if f == nil {
		return nil
	}
	return f.in
}

func (f *stream) writer() Writer {
	if f == nil || f.out == nil {
		return closedWriter{}
	}
	return f.out
}

// closedWriter is the output of a program whose descriptor is closed.
type closedWriter struct{}

func (closedWriter) WriteContext(context.Context, []byte) (int, error) { return 0, syscall.EBADF }

// fileStream is a file as a stream.
type fileStream struct{ file File }

func (f fileStream) ReadContext(ctx context.Context, into []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if r, ok := f.file.(Reader); ok { // it may wait
		return r.ReadContext(ctx, into)
	}
	return f.file.Read(into)
}

func (f fileStream) WriteContext(ctx context.Context, data []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if w, ok := f.file.(Writer); ok { // as above
		return w.WriteContext(ctx, data)
	}
	return f.file.Write(data)
}

func newText(memory Memory, text string) (*stream, error) {
	p := NewPipe(memory)
	p.limit = 0
	if _, err := p.WriteContext(context.Background(), []byte(text)); err != nil {
		return nil, err
	}
	_ = pipeWriter{p}.Close()
	return &stream{in: p, ends: pipeReader{p}}, nil
}

// readAll reads an input to its end.
func (s *Shell) readAll(ctx context.Context, r Reader) ([]byte, error) {
	var data []byte
	buf := make([]byte, 32<<10)
	for {
		if err := s.turn.Step(ctx); err != nil {
			return nil, err
		}
		n, err := r.ReadContext(ctx, buf)
		if err := s.hold(n); err != nil {
			return nil, err
		}
		data = append(data, buf[:n]...)
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return data, err
		}
	}
}
