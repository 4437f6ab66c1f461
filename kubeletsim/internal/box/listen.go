package box

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
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
func (p *proc) accept(ctx context.Context, s *Socket, limit time.Duration) (*conversation, error) {
	p.machine.Main.paused() // other programs let time pass before the next connection
	ctx, done := p.waiting(ctx, limit)
	defer done()
	return s.accept(ctx)
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
	socket.count(p.machine.Ledger)
	keeps := has(flags, 'k') || strings.Contains(strings.Join(p.args, " "), "-ll")
	for {
		c, err := p.accept(ctx, socket, seconds(flags['w']))
		switch {
		case errors.Is(err, errLate):
			return p.fail("timed out")
		case err != nil:
			return p.lost(ctx, err)
		}
		if !keeps {
			socket.close()
		}
		p.talk(ctx, c, program)
		if !keeps || ctx.Err() != nil {
			return 0
		}
	}
}

// talk answers a connection with the program's output or, without one, with the input.
func (p *proc) talk(ctx context.Context, c *conversation, program []string) {
	defer c.reply(nil, syscall.ECONNRESET) // unless it has an answer
	if len(program) == 0 {
		_, _ = p.out.Write(c.sent)
		if p.in != nil {
			c.work.End() // the input may come later
		}
		if answer, err := p.readAll(p.stdin(ctx)); err == nil {
			c.reply(answer, nil)
		}
		return
	}
	m := *p.machine
	m.Dir = p.dir
	ctx, done := p.waiting(ctx, 0)
	defer done()
	_ = m.Act(ctx, func(ctx context.Context, a *Actor) error { // without a result, the connection is reset
		c.work.End()
		ran, err := a.Run(ctx, program, p.env, c.sent, maxConversation)
		if err == nil {
			c.reply([]byte(ran.Output+ran.Errors), nil)
		}
		return err
	})
}

// maxConversation bounds the time of a program that answers a connection.
const maxConversation = 24 * time.Hour
