package box

import (
	"context"
	"net/netip"
	"path"
	"strconv"
	"time"

	"minikcm.dev/minikcm/internal/network/reach"
)

const (
	pingInterval = time.Second
	// pingPatience is the time after the last packet in which BusyBox's ping awaits an answer.
	pingPatience = 10 * time.Second
	pingSize     = 56
	maxPingSize  = 65507
)

// pinging is one run of ping.
type pinging struct {
	*proc
	host           string
	address        netip.Addr
	count, size    int
	interval, last time.Duration
	// deadline ends the run; 0: nothing does.
	deadline       time.Duration
	quiet          bool
	sent, received int
	// least, most and sum are of the times of answers.
	least, most, sum time.Duration
}

// ping sends echo requests, and shows the answers as BusyBox's does.
func ping(ctx context.Context, p *proc) int {
	if p.machine.Network == nil {
		return foreign(ctx, p)
	}
	flags, rest, ok := p.parse("46qnA", "cswWiIt")
	if !ok {
		return 1
	}
	if len(rest) != 1 {
		return p.fail("bad arguments: one host is needed")
	}
	g := &pinging{proc: p, host: rest[0], size: pingSize, interval: pingInterval, last: pingPatience, quiet: has(flags, 'q')}
	for flag, into := range map[byte]*int{'c': &g.count, 's': &g.size} {
		if text, given := flags[flag]; given {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 || n > maxPingSize && flag == 's' {
				return p.fail("invalid number '%s'", text)
			}
			*into = n
		}
	}
	for flag, into := range map[byte]*time.Duration{'i': &g.interval, 'W': &g.last, 'w': &g.deadline} {
		if text, given := flags[flag]; given {
			if *into = seconds(text); *into == 0 {
				return p.fail("invalid number '%s'", text)
			}
		}
	}
	return g.run(ctx, has(flags, '4'), has(flags, '6') || path.Base(p.args[0]) == "ping6")
}

func (g *pinging) run(ctx context.Context, only4, only6 bool) int {
	first, err := g.decide(ctx, dial{host: g.host, protocol: reach.ICMP})
	if err != nil {
		return g.broken(ctx, err)
	}
	g.address = first.Destination.Addr()
	if n := first.Resolution; n != nil && (only4 || only6) { // the one of the wanted family
		g.address = netip.Addr{}
		for _, a := range n.Addresses {
			if a.Is4() == only4 {
				g.address = a
				break
			}
		}
	}
	if first.Outcome == reach.Unknown {
		if code, ok := g.beyond(ctx, first.Why); ok {
			return code
		}
	}
	if !g.address.IsValid() || only4 && !g.address.Is4() || only6 && g.address.Is4() {
		if g.sleep(ctx, first.Outcome.After()) != nil { // of the name server
			return exitInterrupted
		}
		return g.fail("bad address '%s'", g.host)
	}
	g.print("PING %s (%s): %d data bytes\n", g.host, g.address, g.size)
	began := g.machine.Clock.Now()
	for g.count == 0 || g.sent < g.count {
		if err := g.once(ctx); err != nil {
			return g.broken(ctx, err)
		}
		wait := g.interval
		if g.sent == g.count {
			if wait = 0; g.received < g.sent {
				wait = g.last
			}
		}
		left := g.deadline - g.machine.Clock.Since(began)
		ends := g.deadline > 0 && left <= wait
		if ends {
			wait = max(left, 0)
		}
		if g.sleep(ctx, wait) != nil {
			return exitInterrupted
		}
		if ends {
			break
		}
	}
	return g.statistics()
}

// once sends one packet. An answer that comes later than the next packet is not shown.
func (g *pinging) once(ctx context.Context) error {
	c, err := g.decide(ctx, dial{host: g.address.String(), protocol: reach.ICMP})
	if err != nil {
		return err
	}
	g.sent++
	switch {
	case c.Outcome == reach.Unreachable, c.Outcome == reach.Unknown:
		g.fail("sendto: %s", reach.Unreachable.Error())
		return nil
	case c.Outcome != reach.Connected:
		return nil
	}
	took := networkDelay + c.Late()
	if err := g.sleep(ctx, c.Late()); err != nil {
		return err
	}
	if g.received++; g.received == 1 || took < g.least {
		g.least = took
	}
	g.most, g.sum = max(g.most, took), g.sum+took
	if !g.quiet {
		g.print("%d bytes from %s: seq=%d ttl=%d time=%s ms\n", g.size+8, g.address, g.sent-1, hopsLeft(c.Path), milliseconds(took))
	}
	return nil
}

// hopsLeft is the time to live of an answer: each node on the way takes one.
func hopsLeft(p *reach.Path) int {
	from := p.Source.Pod
	switch {
	case p.Destination.Addr().IsLoopback(), from != nil && from == p.Pod:
		return 64
	case from != nil && p.Pod == nil && from.Spec.NodeName == p.Node: // its own node
		return 64
	case from != nil && from.Spec.NodeName == p.Node, p.Pod == nil:
		return 63
	}
	return 62
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 3, 64)
}

// statistics shows the summary, and returns the exit code.
func (g *pinging) statistics() int {
	g.print("\n--- %s ping statistics ---\n%d packets transmitted, %d packets received, %d%% packet loss\n", g.host, g.sent, g.received, 100*(g.sent-g.received)/max(g.sent, 1))
	if g.received > 0 {
		g.print("round-trip min/avg/max = %s/%s/%s ms\n", milliseconds(g.least), milliseconds(g.sum/time.Duration(g.received)), milliseconds(g.most))
	}
	if g.received == 0 || g.deadline > 0 && g.received < g.count {
		return 1
	}
	return 0
}
