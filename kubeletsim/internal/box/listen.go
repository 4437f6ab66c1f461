package box

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/shell"
)

// listen opens a port. Without a socket, code is the program's.
func (p *proc) listen(port int32, protocol corev1.Protocol) (s *Socket, code int) {
	s, err := p.machine.Network.Listen(port, protocol, p.machine.Main != nil)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, p.fail("bind: Address already in use")
	}
	if err != nil {
		return nil, p.fail("bind: %v", err)
	}
	return s, 0
}

// accept waits for a connection. The error is errLate after limit, unless that is 0, or the cause of ctx's end.
func (p *proc) accept(ctx context.Context, s *Socket, limit time.Duration) (*end, error) {
	p.machine.Main.paused() // other programs let time pass before the next connection
	ctx, done := p.waiting(ctx, limit)
	defer done()
	e, err := s.accept(ctx)
	if err != nil {
		return nil, err
	}
	return p.own(e), nil
}

// within returns a context that ends with errLate after limit, unless that is 0.
func (p *proc) within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if limit <= 0 {
		return ctx, func() { cancel(nil) }
	}
	timer := p.machine.Clock.AfterFunc(limit, func() {
		cancel(errLate)
		p.attention.recall()
	})
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// netcatProgram splits nc's arguments at -e, which the program and its arguments follow.
func netcatProgram(args []string) (own, program []string) {
	for i, arg := range args {
		if len(arg) > 1 && arg[0] == '-' && strings.Trim(arg[1:], "lkvnue") == "" && strings.HasSuffix(arg, "e") {
			if own = append(own, args[:i]...); arg != "-e" {
				own = append(own, strings.TrimSuffix(arg, "e"))
			}
			return own, args[i+1:]
		}
	}
	return args, nil
}

// netcatListen is nc -l: it accepts one connection, or one after the other with -k or -ll.
func (p *proc) netcatListen(ctx context.Context, flags map[byte]string, rest, program []string) int {
	text := flags['p']
	if text == "" && len(rest) > 0 { // as in OpenBSD's nc
		text = rest[len(rest)-1]
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if text == "" {
		port, err = 32768+p.draw("nc")%28000, nil
	}
	if err != nil || port == 0 {
		return p.fail("bad port '%s'", text)
	}
	protocol := corev1.ProtocolTCP
	if has(flags, 'u') {
		protocol = corev1.ProtocolUDP
	}
	socket, code := p.listen(int32(port), protocol)
	if socket == nil {
		return code
	}
	defer socket.close()
	keeps := has(flags, 'k') || strings.Contains(strings.Join(p.args, " "), "-ll")
	limit := seconds(flags['w'])
	for {
		e, err := p.accept(ctx, socket, limit)
		switch {
		case errors.Is(err, errLate):
			return p.fail("timed out")
		case err != nil:
			return p.lost(ctx, err)
		case keeps && len(program) > 0: // each connection has a process
			p.beside(ctx, func(ctx context.Context) { p.converseBy(ctx, e, program) })
			continue
		case !keeps:
			socket.close()
		}
		if len(program) > 0 {
			p.converseBy(ctx, e, program)
		} else {
			err = p.dialogue(ctx, e, limit)
		}
		e.close(ctx.Err() != nil)
		switch {
		case ctx.Err() != nil:
			return p.lost(ctx, ctx.Err())
		case errors.Is(err, errNoWriter):
			return 1
		case !keeps:
			return 0
		}
	}
}

// converseBy runs a program whose input and output a connection is.
func (p *proc) converseBy(ctx context.Context, e *end, program []string) {
	defer func() { e.close(ctx.Err() != nil) }()
	inner := p.inner(ctx, program, p.env)
	inner.in, inner.stdout, inner.stderr = e, e, e
	inner.bind(ctx)
	p.become(ctx, inner)
}

// dialogue copies the input to a connection, and what comes from there to the output, until both have ended. After limit, twice, without
// anything from there, it ends, too, once the input has ended; 0: it waits.
func (p *proc) dialogue(ctx context.Context, e *end, limit time.Duration) error {
	over, stop := p.beside(ctx, func(ctx context.Context) {
		if p.in != nil {
			_, _ = io.Copy(boundWriter(ctx, e), boundReader(ctx, p.in)) // the other end may have closed
		}
		e.finish()
	})
	defer stop()
	buffer := make([]byte, 8<<10)
	for silent := 0; silent < 2; {
		limited, done := p.within(ctx, limit)
		n, err := e.ReadContext(limited, buffer)
		done()
		if _, failed := p.out.Write(buffer[:n]); failed != nil {
			return failed
		}
		switch {
		case errors.Is(err, errLate) && ctx.Err() == nil:
			if closed(over) {
				silent++
			}
		case errors.Is(err, io.EOF):
			defer shell.TurnOf(ctx).Await(over, ctx.Done())()
			select {
			case <-over:
			case <-ctx.Done():
			}
			return ctx.Err()
		case err != nil:
			return err
		}
	}
	return nil
}
