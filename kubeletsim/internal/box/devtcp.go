package box

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/kubeletsim/internal/shell"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// Connect implements shell.Container: it opens a path such as /dev/tcp/HOST/PORT, which bash takes for a connection. Only a shell of
// unknown content may be bash.
func (s *session) Connect(ctx context.Context, name string) (shell.File, error) {
	host, port, protocol := socketPath(name)
	if protocol == "" || !s.machine.Unknown {
		return nil, nil
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || s.machine.Network == nil {
		return s.connectedTo(host, port), nil
	}
	p := s.newProc(ctx, []string{"bash"}, nil, "/")
	d, err := p.connect(ctx, dial{host: host, port: int32(number), protocol: protocol})
	switch {
	case err != nil:
		return nil, err
	case d.Outcome == reach.Unknown:
		return s.connectedTo(host, port), nil
	}
	if d.Outcome == reach.Connected && (d.Effect == nil || !d.Effect.Stalled) {
		if e, err := p.openTo(ctx, d); err != nil || e != nil {
			return liveConnection{e}, err
		}
	}
	switch {
	case d.established(), protocol == corev1.ProtocolUDP && d.Destination.IsValid(): // a datagram needs no answer
		return &connection{proc: p, to: d}, nil
	}
	return nil, errors.New(d.Outcome.Error())
}

// liveConnection is a connection to a program that listens in a container.
type liveConnection struct{ *end }

// Read implements shell.File. The shell calls ReadContext.
func (c liveConnection) Read(data []byte) (int, error) {
	return c.ReadContext(context.Background(), data)
}

// Write implements shell.File. The shell calls WriteContext.
func (c liveConnection) Write(data []byte) (int, error) {
	return c.WriteContext(context.Background(), data)
}

// Close implements shell.File.
func (c liveConnection) Close() error {
	c.close(false)
	return nil
}

// socketPath splits a path such as /dev/tcp/HOST/PORT. The protocol of other paths is empty.
func socketPath(name string) (host, port string, protocol corev1.Protocol) {
	for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
		if rest, ok := strings.CutPrefix(name, "/dev/"+strings.ToLower(string(protocol))+"/"); ok {
			host, port, _ = strings.Cut(rest, "/")
			return host, port, protocol
		}
	}
	return "", "", ""
}

// connectedTo assumes a connection.
func (s *session) connectedTo(host, port string) shell.File {
	s.Assume(unknown.Show(host) + " accepts connections at port " + unknown.Show(port))
	return &connection{}
}

// connection is an end of a network connection. The other end answers once, when the answer is read. A read that is interrupted before
// ends the connection.
type connection struct {
	proc *proc
	// to is the other end; nil: nothing is known of it.
	to *dialed

	// mu guards what follows, and is not held during a wait: jobs of a shell share its files.
	mu   sync.Mutex
	sent []byte
	// answered is closed when the answer is there; nil: no read has asked for it.
	answered chan struct{}
	answer   []byte
	closed   bool
}

// Read implements shell.File. The shell calls ReadContext.
func (c *connection) Read(data []byte) (int, error) { return c.ReadContext(context.Background(), data) }

// ReadContext implements shell.Reader.
func (c *connection) ReadContext(ctx context.Context, data []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := c.await(ctx); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.answer) == 0 {
		return 0, io.EOF
	}
	n := copy(data, c.answer)
	c.answer = c.answer[n:]
	return n, nil
}

// await returns when there is an answer, or with the error of its connection or of ctx. The first call asks for it.
func (c *connection) await(ctx context.Context) error {
	c.mu.Lock()
	answered, first := c.answered, c.answered == nil
	if first {
		answered = make(chan struct{})
		c.answered = answered
	}
	if first && c.to == nil {
		c.answer = []byte(unknown.Line)
		close(answered)
	}
	c.mu.Unlock()
	switch {
	case closed(answered):
		return nil
	case first:
		defer close(answered)
		return c.ask(ctx)
	}
	defer shell.TurnOf(ctx).Await(answered, ctx.Done())()
	select { // another part of the command waits for the other end
	case <-answered:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask gets the answer to what was sent, which does not change any more.
func (c *connection) ask(ctx context.Context) error {
	answer, err := c.proc.answerOf(ctx, c.to, c.sent)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = answer
	if c.closed {
		c.free()
	}
	return err
}

// Write implements shell.File.
func (c *connection) Write(data []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.to != nil && c.answered == nil && len(c.sent)+len(data) <= maxSent {
		if err := c.proc.keep(len(data)); err != nil {
			return 0, err
		}
		c.sent = append(c.sent, bytes.Clone(data)...)
	}
	return len(data), nil
}

// Close implements shell.File.
func (c *connection) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.answered == nil || closed(c.answered) { // else the read frees it
		c.free()
	}
	return nil
}

// free releases the memory. It requires the lock.
func (c *connection) free() {
	if c.proc != nil {
		c.proc.drop(int(c.proc.held))
	}
}
