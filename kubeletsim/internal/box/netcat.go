package box

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// netcat is BusyBox's nc, with the options of its large build, --sctp of nmap's ncat, and -W of OpenBSD's nc, which ends after as
// many packets have come: as here any nc -u does that has received an answer.
func netcat(ctx context.Context, p *proc) int {
	if p.machine.Network == nil {
		return foreign(ctx, p)
	}
	args, program := netcatProgram(p.args[1:])
	flags, rest, other := options(args, "zvnutlkN46", "wpisqW", longOptions("nc"))
	switch {
	case other != "":
		return p.unsupported(other)
	case has(flags, 'w') && !isNumber(flags['w']):
		return p.fail("invalid number '%s'", flags['w'])
	case has(flags, 'l'):
		return p.netcatListen(ctx, flags, rest, program)
	case len(rest) != 2:
		return p.fail("bad arguments: a host and a port are needed")
	}
	first, last, ok := portRange(rest[1])
	if !ok {
		return p.fail("bad port '%s'", rest[1])
	}
	var limit time.Duration
	if text, given := flags['w']; given {
		limit = seconds(text)
	}
	code := 1
	for port := first; port <= last; port++ {
		d := dial{host: rest[0], port: port, protocol: corev1.ProtocolTCP, limit: limit}
		if has(flags, 'u') {
			d.protocol = corev1.ProtocolUDP
		} else if has(flags, 'S') {
			d.protocol = corev1.ProtocolSCTP
		}
		got, done := p.netcatTo(ctx, d, flags, program)
		if code = min(code, got); done {
			return got
		}
	}
	return code
}

// maxPortRange bounds the ports that nc scans.
const maxPortRange = 1024

// portRange reads a port or a range of ports.
func portRange(text string) (first, last int32, ok bool) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	low, err := strconv.ParseUint(from, 10, 16)
	high, err2 := strconv.ParseUint(to, 10, 16)
	if err != nil || err2 != nil || low == 0 || high < low || high-low >= maxPortRange {
		return 0, 0, false
	}
	return int32(low), int32(high), true
}

// netcatTo connects to one port. done means that no other port is tried.
func (p *proc) netcatTo(ctx context.Context, d dial, flags map[byte]string, program []string) (code int, done bool) {
	c, err := p.connect(ctx, d)
	if err != nil {
		return p.broken(ctx, err), true
	}
	if c.Outcome == reach.Unknown {
		if code, ok := p.beyond(ctx, c.Why); ok {
			return code, true
		}
	}
	verbose := has(flags, 'v')
	switch {
	case c.Outcome == reach.NoSuchHost, c.Outcome == reach.NoNameServer, c.Outcome == reach.ServerFailure, c.Outcome == reach.Unknown && !c.Destination.IsValid():
		return p.fail("bad address '%s'", d.host), true
	case c.established(), d.protocol == corev1.ProtocolUDP && c.Outcome == reach.TimedOut: // nothing says that a datagram is lost
	default:
		text := c.Outcome.Error()
		if c.Outcome == reach.Unknown {
			text = "Network is unreachable"
		}
		if verbose {
			p.fail("%s (%s): %s", d.host, c.Destination, text)
		}
		return 1, false
	}
	if verbose {
		_, _ = fmt.Fprintf(p.err, "%s (%s) open\n", d.host, c.Destination)
	}
	if has(flags, 'z') || !c.established() {
		return 0, false
	}
	e, err := p.openTo(ctx, c)
	switch {
	case errors.Is(err, errReset), errors.Is(err, errStalled):
		return p.fail("read: %v", err), true
	case err != nil:
		return p.broken(ctx, err), true
	case e == nil:
		return p.converse(ctx, c), true
	}
	defer e.close(false)
	if len(program) > 0 {
		p.converseBy(ctx, e, program)
		return 0, true
	}
	switch err := p.dialogue(ctx, e, d.limit); {
	case errors.Is(err, syscall.ECONNRESET):
		return p.fail("read: %v", errReset), true
	case errors.Is(err, errNoWriter):
		return 1, true
	case err != nil:
		return p.lost(ctx, err), true
	}
	return 0, true
}

// openTo opens a connection to a program that listens in a container, which both ends use until they close it; nil: what listens there
// answers once. The error is errReset, errStalled or the context's.
func (p *proc) openTo(ctx context.Context, c *dialed) (*end, error) {
	if c.Listener == nil || c.Protocol != corev1.ProtocolTCP {
		return nil, nil
	}
	socket := p.machine.Network.Socket(c.Path)
	if socket == nil {
		return nil, nil
	}
	there := networkDelay
	if c.Effect != nil && c.Effect.Stalled {
		return nil, cmp.Or(p.sleep(ctx, stalledTime), errStalled)
	}
	if c.Effect != nil {
		there += c.Effect.Exchange
	}
	e, err := socket.connect(p.machine.Clock, p.sourceOf(c, c.host), there, networkDelay)
	if err != nil || c.Outcome == reach.Reset {
		if e != nil {
			e.close(true)
		}
		return nil, errReset
	}
	return p.own(e), nil
}

// maxSent bounds the bytes that nc reads of its input.
const maxSent = 1 << 20

// converse sends the input, and writes the answer. A server of HTTP answers a request, and one of which nothing is known anything.
func (p *proc) converse(ctx context.Context, c *dialed) int {
	var sent []byte
	if p.in != nil {
		buffer := make([]byte, 4096)
		in := p.stdin(ctx)
		for len(sent) < maxSent && !bytes.Contains(sent, []byte("\r\n\r\n")) && !bytes.Contains(sent, []byte("\n\n")) {
			n, err := in.Read(buffer)
			if keepErr := p.keep(n); keepErr != nil {
				return exitKilled
			}
			if sent = append(sent, buffer[:n]...); err != nil {
				break
			}
		}
	}
	answer, err := p.answerOf(ctx, c, sent)
	switch {
	case errors.Is(err, errEmpty):
		return 0
	case errors.Is(err, errReset), errors.Is(err, errStalled):
		return p.fail("read: %v", err)
	case err != nil:
		return p.lost(ctx, err)
	}
	_, _ = p.out.Write(answer)
	return 0
}

// badRequest is the answer of net/http to what is no request.
const badRequest = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"

// answerOf returns what the other end of a connection answers to what was sent.
func (p *proc) answerOf(ctx context.Context, c *dialed, sent []byte) ([]byte, error) {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(sent)))
	switch {
	case c.Outcome == reach.Reset && len(sent) > 0:
		return nil, errReset
	case c.Listener != nil && (c.Listener.Speaks != "" || c.Listener.Process != "" && err != nil):
		ctx, done := p.waiting(ctx, 0)
		defer done()
		answer, err := p.machine.Network.Exchange(ctx, c.Path, p.sourceOf(c, ""), sent)
		if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.ECONNREFUSED) {
			err = errReset
		}
		return answer, err
	case err == nil:
		a, err := p.ask(ctx, c, r.WithContext(ctx), 0, nil)
		if err != nil {
			return nil, err
		}
		return append([]byte(strings.Join(headerLines(a, r), "\r\n")+"\r\n\r\n"), a.body...), nil
	case c.Listener != nil && c.Listener.Unknown:
		return []byte(unknown.Line), nil
	case len(sent) > 0:
		return []byte(badRequest), nil
	}
	return nil, nil
}
