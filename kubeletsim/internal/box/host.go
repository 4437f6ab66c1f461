package box

import (
	"context"
	"strings"

	"minikcm.dev/minikcm/internal/network/dns"
	"minikcm.dev/minikcm/internal/network/reach"
)

// lookUpHost is host of BIND 9: it asks the name server, along the search list.
func lookUpHost(ctx context.Context, p *proc) int {
	if p.machine.Network == nil {
		return foreign(ctx, p)
	}
	flags, rest, ok := p.parse("46aCdilnrsTUvVw", "ctWNRmp")
	if !ok {
		return 1
	}
	if len(rest) == 0 {
		return p.fail("bad arguments: a name is needed")
	}
	q := &question{proc: p, name: rest[0], of: dns.Type(strings.ToUpper(flags['t'])), config: p.resolver()}
	if code, ok := q.open(ctx, strings.Join(rest[min(1, len(rest)):min(2, len(rest))], "")); !ok {
		return code
	}
	answer, last, outcome, err := q.ask(ctx)
	if err != nil {
		return p.broken(ctx, err)
	}
	if outcome != reach.Connected {
		patience := digPatience
		if text, given := flags['W']; given {
			patience = seconds(text)
		}
		switch {
		case q.unanswered(ctx, 2, patience):
			return exitInterrupted
		case q.failure != reach.Unreachable:
			p.print(noServers)
		}
		return 1
	}
	if answer.Code == dns.Outside {
		if code, ok := p.beyond(ctx, dns.WhyOutside(last, answer.Records)); ok {
			return code
		}
		answer.Code = dns.NXDomain
	}
	if len(rest) > 1 {
		p.print("Using domain server:\nName: %s\nAddress: %s#53\nAliases: \n\n", rest[1], q.server)
	}
	if number := map[dns.Code]string{dns.NXDomain: "3(NXDOMAIN)", dns.ServFail: "2(SERVFAIL)"}[answer.Code]; number != "" {
		p.print("Host %s not found: %s\n", strings.TrimSuffix(last, "."), number)
		return 1
	}
	if len(answer.Records) == 0 && q.of != "" {
		p.print("%s has no %s record\n", strings.TrimSuffix(last, "."), q.of)
	}
	for _, r := range answer.Records {
		p.print("%s %s %s\n", r.Name, map[dns.Type]string{
			dns.A: "has address", dns.AAAA: "has IPv6 address", dns.CNAME: "is an alias for", dns.PTR: "domain name pointer", dns.SRV: "has SRV record", dns.TXT: "descriptive text",
		}[r.Type], recordData(r))
	}
	return 0
}
