package box

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"minikcm.dev/minikcm/internal/network/dns"
	"minikcm.dev/minikcm/internal/network/reach"
)

// nslookup asks the name server, along the search list, and shows the answer as BusyBox's does.
func nslookup(ctx context.Context, p *proc) int {
	if p.machine.Network == nil {
		return foreign(ctx, p)
	}
	of, name, server := dns.Type(""), "", ""
	for _, arg := range p.args[1:] {
		given, isType := strings.CutPrefix(strings.ToLower(arg), "-type=")
		if !isType {
			given, isType = strings.CutPrefix(strings.ToLower(arg), "-query=")
		}
		switch {
		case isType:
			of = dns.Type(strings.ToUpper(given))
		case strings.HasPrefix(arg, "-"):
		case name == "":
			name = arg
		default:
			server = arg
		}
	}
	if name == "" {
		return p.fail("a host is needed")
	}
	config := p.resolver()
	if server != "" {
		config.Nameservers = []string{server}
	}
	q := &question{proc: p, name: name, of: of, config: config}
	return q.show(ctx)
}

// question is a name that is looked up.
type question struct {
	*proc
	name   string
	of     dns.Type
	config dns.Config
}

// types are the types that are asked for.
func (q *question) types() []dns.Type {
	if q.of != "" && q.of != "ANY" {
		return []dns.Type{q.of}
	}
	return []dns.Type{dns.A, dns.AAAA}
}

// ask asks for the candidates of the name until one exists.
func (q *question) ask(ctx context.Context) (answer dns.Answer, last string, outcome reach.Outcome, err error) {
	if err := q.sleep(ctx, networkDelay); err != nil {
		return answer, "", "", err
	}
	names := q.config.Candidates(q.name)
	if address, err := netip.ParseAddr(q.name); err == nil {
		names, q.of = []string{dns.ReverseName(address)}, dns.PTR
	}
	served, err := q.machine.Network.Names(ctx, &q.config, q.draw(q.name), func(zone *dns.Zone) {
		for _, last = range names {
			answer = dns.Answer{Code: dns.NXDomain}
			for _, of := range q.types() {
				part := zone.Query(last, of)
				answer.Records = append(answer.Records, part.Records...)
				answer.Code = part.Code
			}
			if answer.Code != dns.NXDomain {
				return
			}
		}
	})
	if err != nil {
		return answer, last, "", err
	}
	if answer.Code == dns.NoAnswer {
		served.Outcome = reach.NoNameServer
	}
	return answer, last, served.Outcome, q.sleep(ctx, served.Late)
}

func (q *question) show(ctx context.Context) int {
	answer, last, outcome, err := q.ask(ctx)
	if err != nil {
		return q.broken(ctx, err)
	}
	server := "127.0.0.1"
	if len(q.config.Nameservers) > 0 {
		server = q.config.Nameservers[0]
	}
	if outcome != reach.Connected {
		if q.sleep(ctx, outcome.After()) != nil {
			return exitInterrupted
		}
		q.print(";; connection timed out; no servers could be reached\n\n")
		return 1
	}
	if answer.Code == dns.Outside {
		if code, ok := q.beyond(ctx, dns.WhyOutside(last, answer.Records)); ok {
			return code
		}
		answer.Code = dns.NXDomain
	}
	q.print("Server:\t\t%s\nAddress:\t%s\n\n", server, netip.AddrPortFrom(orLoopback(server), 53))
	if answer.Code == dns.NXDomain || answer.Code == dns.ServFail {
		q.print("** server can't find %s: %s\n\n", strings.TrimSuffix(q.name, "."), answer.Code)
		return 1
	}
	if len(answer.Records) == 0 {
		q.print("*** Can't find %s: No answer\n\n", last)
		return 1
	}
	for _, r := range answer.Records {
		q.print("%s\n", shownRecord(r))
	}
	q.print("\n")
	return 0
}

func orLoopback(text string) netip.Addr {
	if address, err := netip.ParseAddr(text); err == nil {
		return address
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// shownRecord returns a record as nslookup shows it.
func shownRecord(r dns.Record) string {
	switch r.Type {
	case dns.A, dns.AAAA:
		return fmt.Sprintf("Name:\t%s\nAddress: %s", r.Name, r.Address)
	case dns.CNAME:
		return fmt.Sprintf("%s\tcanonical name = %s", r.Name, r.Target)
	case dns.PTR:
		return fmt.Sprintf("%s\tname = %s", r.Name, r.Target)
	case dns.SRV:
		return fmt.Sprintf("%s\tservice = %d %d %d %s", r.Name, r.Priority, r.Weight, r.Port, r.Target)
	}
	return fmt.Sprintf("%s\ttext = %q", r.Name, r.Target)
}
