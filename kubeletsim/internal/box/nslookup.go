package box

import (
	"context"
	"fmt"
	"net/netip"
	"path"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

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
	q := &question{proc: p, name: name, of: of, config: p.resolver()}
	if code, ok := q.open(ctx, server); !ok {
		return code
	}
	return q.show(ctx)
}

// question is a name that is looked up.
type question struct {
	*proc
	name   string
	of     dns.Type
	config dns.Config
	// server is the address of the server that the program was given, if it was given one.
	server netip.Addr
	// failure says how a query ends that gets no answer.
	failure reach.Outcome
}

// open finds the address of the server that the program was given; empty: it was given none. Not ok means that there is no such server.
func (q *question) open(ctx context.Context, server string) (code int, ok bool) {
	if server == "" {
		return 0, true
	}
	var err error
	if q.server, err = netip.ParseAddr(server); err != nil {
		to, err := q.decide(ctx, dial{host: server, port: 53, protocol: corev1.ProtocolUDP})
		if err != nil {
			return q.broken(ctx, err), false
		}
		if q.server = to.Destination.Addr(); !q.server.IsValid() {
			return q.noServer(ctx, server, to.Path), false
		}
	}
	q.config.Nameservers = []string{q.server.String()}
	return 0, true
}

// noServer reports that the name of a server has no address.
func (q *question) noServer(ctx context.Context, name string, to *reach.Path) int {
	if to.Outcome == reach.Unknown {
		if code, ok := q.beyond(ctx, to.Why); ok {
			return code
		}
	}
	if q.sleep(ctx, to.Outcome.After()+to.Late()) != nil {
		return exitInterrupted
	}
	why := "not found"
	if to.Outcome == reach.NoNameServer || to.Outcome == reach.ServerFailure {
		why = "failure"
	}
	if path.Base(q.args[0]) == "nslookup" {
		return q.fail("bad address '%s'", name)
	}
	return q.fail("couldn't get address for '%s': %s", name, why)
}

// unanswered waits for an answer that does not come, and says so as programs of BIND do, for each of a number of attempts.
func (q *question) unanswered(ctx context.Context, tries int, patience time.Duration) (interrupted bool) {
	server := orLoopback(strings.Join(q.config.Nameservers[:min(1, len(q.config.Nameservers))], ""))
	why, wait := "timed out", patience
	switch q.failure {
	case reach.Refused:
		why, wait = "connection refused", 0
	case reach.NoRoute:
		why, wait = "host unreachable", min(q.failure.After(), patience)
	}
	for range tries {
		if q.sleep(ctx, wait) != nil {
			return true
		}
		if q.failure == reach.Unreachable {
			q.print(";; UDP setup with %[1]s#53(%[1]s) for %s failed: network unreachable.\n%s", server, strings.TrimSuffix(q.name, "."), noServers)
		} else {
			q.print(";; communications error to %s#53: %s\n", server, why)
		}
	}
	return false
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
	q.failure = served.Failure
	if answer.Code == dns.NoAnswer || served.Outside && isUnused(q.server) {
		served.Outcome, q.failure = reach.NoNameServer, reach.TimedOut
	}
	return answer, last, served.Outcome, q.sleep(ctx, served.Late)
}

// isUnused reports whether no server of names is expected at an address outside of the cluster: one of a private network, which the
// configuration of no resolver names.
func isUnused(server netip.Addr) bool {
	return server.IsPrivate() || server.IsLinkLocalUnicast()
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
		wait := nslookupPatience
		switch q.failure {
		case reach.Refused:
			wait = 0
			_ = q.fail("write to '%s': Connection refused", server)
		case reach.Unreachable:
			return q.fail("can't connect to remote host (%s): Network is unreachable", server)
		}
		if q.sleep(ctx, wait) != nil {
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

// nslookupPatience is the time that BusyBox's nslookup waits for answers.
const nslookupPatience = 5 * time.Second

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
