package box

import (
	"bytes"
	"context"
	"io"
	"sync"

	"minikcm.dev/minikcm/kubeletsim/internal/shell"
)

// inputLimit is the number of unread bytes at which the sender has to wait.
const inputLimit = 1 << 20

// input buffers the bytes that a command has not read yet.
type input struct {
	attention *attention

	mu      sync.Mutex
	changed sync.Cond
	unread  []byte
	ended   bool
	// waiting are the waiting readers.
	waiting []*absence
	// cuts counts the ends of input that were typed. One reader sees each of them.
	cuts int
}

func newInput(a *attention) *input {
	in := &input{attention: a}
	in.changed.L = &in.mu
	return in
}

// Write buffers input. It waits while inputLimit is reached.
func (in *input) Write(p []byte) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.unread) >= inputLimit && !in.ended {
		in.changed.Wait()
	}
	if in.ended {
		return 0, io.ErrClosedPipe
	}
	in.unread = append(in.unread, p...)
	in.wake()
	return len(p), nil
}

// end makes readers see the end of input after the buffered bytes.
func (in *input) end() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ended = true
	in.wake()
}

// cut makes one reader see an end of input after which more may come, as ^D on a terminal does.
func (in *input) cut() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.cuts++
	in.wake()
}

func (in *input) wake() {
	for _, w := range in.waiting {
		w.back()
	}
	in.waiting = nil
	in.changed.Broadcast()
}

// wait returns when ready returns true, or ctx ends. It requires the lock.
func (in *input) wait(ctx context.Context, ready func() bool) error {
	if ready() {
		return nil
	}
	shell.TurnOf(ctx).End()
	stop := context.AfterFunc(ctx, func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.wake()
	})
	defer stop()
	for !ready() {
		if err := ctx.Err(); err != nil {
			return err
		}
		w := &absence{in.attention, []<-chan struct{}{ctx.Done()}}
		w.leave()
		in.waiting = append(in.waiting, w)
		in.changed.Wait()
	}
	return nil
}

// read reads as much as there is of one line.
func (in *input) read(ctx context.Context, p []byte) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.wait(ctx, func() bool { return len(in.unread) > 0 || in.ended || in.cuts > 0 }); err != nil {
		return 0, err
	}
	if len(in.unread) == 0 {
		if in.cuts > 0 {
			in.cuts--
		}
		return 0, io.EOF
	}
	n := len(in.unread)
	if end := bytes.IndexByte(in.unread, '\n'); end >= 0 {
		n = end + 1
	}
	n = copy(p, in.unread[:n])
	in.unread = in.unread[n:]
	in.changed.Broadcast()
	return n, nil
}

// line reads one line, or what there is of it at the end of the input.
func (in *input) line(ctx context.Context) ([]byte, error) {
	var line []byte
	buf := make([]byte, 4096)
	for {
		n, err := in.read(ctx, buf)
		line = append(line, buf[:n]...)
		if err != nil || line[len(line)-1] == '\n' || len(line) > inputLimit {
			return line, err
		}
	}
}

// readerFunc is a reader that is a func.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
