package box

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/network/dns"
	"minikcm.dev/minikcm/internal/network/reach"
)

// The texts of programs of BIND.
const (
	digVersion  = "9.18.49"
	noServers   = ";; no servers could be reached\n"
	recordTTL   = 30 // CoreDNS's, with kubeadm's configuration
	digTries    = 3
	digPatience = 5 * time.Second
	// exitNoServer is dig's exit code without an answer.
	exitNoServer = 9
)

// digging is one run of dig.
type digging struct {
	*question
	at string
	// search uses the search list. The others say what is shown.
	search, short, command, comments, asks, answers, stats bool
	tries                                                  int
	patience                                               time.Duration
	asked                                                  string
}

// dig asks the name server, and shows the answer as the program of BIND 9 does.
func dig(ctx context.Context, p *proc) int {
	if p.machine.Network == nil {
		return foreign(ctx, p)
	}
	d := &digging{
		question: &question{proc: p, of: dns.A, config: p.resolver()}, asked: strings.Join(p.args[1:], " "),
		command: true, comments: true, asks: true, answers: true, stats: true, tries: digTries, patience: digPatience,
	}
	if code, ok := d.parse(); !ok {
		return code
	}
	if code, ok := d.open(ctx, d.at); !ok {
		return code
	}
	if !d.search {
		d.name = strings.TrimSuffix(d.name, ".") + "."
	}
	return d.run(ctx)
}

// parse reads the arguments.
func (d *digging) parse() (code int, ok bool) {
	args := d.args[1:]
	for i := 0; i < len(args); i++ {
		arg := args[i]
		next := func() string {
			if len(arg) > 2 {
				return arg[2:]
			}
			i++
			return strings.Join(args[min(i, len(args)):min(i+1, len(args))], "")
		}
		switch upper := strings.ToUpper(arg); {
		case strings.HasPrefix(arg, "@"):
			d.at = arg[1:]
		case strings.HasPrefix(arg, "+"):
			if !d.option(arg[1:]) {
				_, _ = fmt.Fprintf(d.err, "Invalid option: %s\n", arg)
				return 1, false
			}
		case strings.HasPrefix(arg, "-x"):
			d.name, d.of = reversed(next()), dns.PTR
		case strings.HasPrefix(arg, "-t"):
			d.of = dns.Type(strings.ToUpper(next()))
		case strings.HasPrefix(arg, "-q"):
			d.name = next()
		case strings.HasPrefix(arg, "-p"), strings.HasPrefix(arg, "-b"), strings.HasPrefix(arg, "-c"):
			next() // the port, the own address and the class change nothing here
		case strings.HasPrefix(arg, "-"), upper == "IN":
		case slices.Contains([]string{"A", "AAAA", "CNAME", "SRV", "PTR", "TXT", "NS", "SOA", "MX", "ANY"}, upper):
			d.of = dns.Type(upper)
		default:
			d.name = arg
		}
	}
	if d.name == "" {
		d.name, d.of = ".", "NS"
	}
	return 0, true
}

// reversed returns the name of an address; what is none is a part of one.
func reversed(text string) string {
	if address, err := netip.ParseAddr(text); err == nil {
		return dns.ReverseName(address)
	}
	labels := strings.Split(text, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".") + ".in-addr.arpa"
}

// option applies an option that begins with +.
func (d *digging) option(text string) bool {
	name, value, _ := strings.Cut(text, "=")
	on := !strings.HasPrefix(name, "no")
	switch strings.TrimPrefix(name, "no") {
	case "short":
		d.short = on
	case "all":
		d.command, d.comments, d.asks, d.answers, d.stats = on, on, on, on, on
	case "answer":
		d.answers = on
	case "comments":
		d.comments = on
	case "question":
		d.asks = on
	case "stats":
		d.stats = on
	case "cmd":
		d.command = on
	case "search", "defname":
		d.search = on
	case "time", "timeout":
		if d.patience = seconds(value); d.patience == 0 {
			return false
		}
	case "tries", "retry":
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			return false
		}
		if d.tries = min(max(n, 1), 100); name == "retry" {
			d.tries = min(n, 100) + 1
		}
	case "tcp", "vc", "authority", "additional", "recurse", "rec", "edns", "dnssec", "do", "ttlid", "multiline", "bufsize", "ndots", "adflag", "cdflag", "cookie", "identify", "rrcomments", "qr", "ttlunits", "badcookie", "trace", "showsearch":
	default:
		return false
	}
	return true
}

func (d *digging) run(ctx context.Context) int {
	answer, last, outcome, err := d.ask(ctx)
	if err != nil {
		return d.broken(ctx, err)
	}
	server := orLoopback(strings.Join(d.config.Nameservers[:min(1, len(d.config.Nameservers))], ""))
	if outcome != reach.Connected {
		switch {
		case d.unanswered(ctx, d.tries, d.patience):
			return exitInterrupted
		case d.failure != reach.Unreachable:
			d.title()
			d.print(noServers)
		}
		return exitNoServer
	}
	if answer.Code == dns.Outside {
		if code, ok := d.beyond(ctx, dns.WhyOutside(last, answer.Records)); ok {
			return code
		}
		answer.Code = dns.NXDomain
	}
	if d.short {
		for _, r := range answer.Records {
			d.print("%s\n", recordData(r))
		}
		return 0
	}
	d.title()
	d.show(answer, strings.TrimSuffix(last, "."))
	if d.stats {
		d.print(";; Query time: 0 msec\n;; SERVER: %s#53(%s) (UDP)\n;; WHEN: %s\n;; MSG SIZE  rcvd: %d\n\n", server, cmp.Or(d.at, server.String()), d.machine.Clock.Now().UTC().Format("Mon Jan 02 15:04:05 MST 2006"), messageSize(answer, last))
	}
	return 0
}

// title shows what was asked for.
func (d *digging) title() {
	if d.command && !d.short {
		found := ""
		if d.at != "" {
			found = "; (1 server found)\n"
		}
		d.print("\n; <<>> DiG %s <<>> %s\n%s;; global options: +cmd\n", digVersion, d.asked, found)
	}
}

// show shows the sections of an answer.
func (d *digging) show(answer dns.Answer, name string) {
	if d.comments {
		d.print(";; Got answer:\n;; ->>HEADER<<- opcode: QUERY, status: %s, id: %d\n;; flags: qr aa rd; QUERY: 1, ANSWER: %d, AUTHORITY: 0, ADDITIONAL: 1\n;; WARNING: recursion requested but not available\n\n"+
			";; OPT PSEUDOSECTION:\n; EDNS: version: 0, flags:; udp: 1232\n", answer.Code, uint16(d.draw(name)), len(answer.Records))
	}
	section := func(shown bool, title string, lines ...string) {
		if !shown || len(lines) == 0 {
			return
		}
		if d.comments {
			lines = slices.Concat([]string{";; " + title + " SECTION:"}, lines, []string{""})
		}
		d.print("%s\n", strings.Join(lines, "\n"))
	}
	section(d.asks, "QUESTION", ";"+inColumns(name+".", "", "IN", string(d.of)))
	var lines []string
	for _, r := range answer.Records {
		lines = append(lines, inColumns(r.Name+".", strconv.Itoa(recordTTL), "IN", string(r.Type), recordData(r)))
	}
	section(d.answers, "ANSWER", lines...)
}

// inColumns joins the fields of a record as a zone file has them: each one at its column, if the one before leaves room.
func inColumns(fields ...string) string {
	line, at := fields[0], len(fields[0])
	for i, field := range fields[1:] {
		if field == "" {
			continue
		}
		if column := 24 + 8*i; at < column {
			tabs := (column - at + 7) / 8
			line, at = line+strings.Repeat("\t", tabs), column
		} else {
			line, at = line+" ", at+1
		}
		line, at = line+field, at+len(field)
	}
	return line
}

// recordData returns what a record says, in the form of a zone file.
func recordData(r dns.Record) string {
	switch r.Type {
	case dns.A, dns.AAAA:
		return r.Address.String()
	case dns.SRV:
		return fmt.Sprintf("%d %d %d %s.", r.Priority, r.Weight, r.Port, r.Target)
	case dns.TXT:
		return strconv.Quote(r.Target)
	}
	return r.Target + "."
}

// messageSize returns about how many bytes an answer has: names are not compressed.
func messageSize(answer dns.Answer, name string) int {
	size := 12 + len(name) + 6 + 11
	for _, r := range answer.Records {
		size += len(r.Name) + 2 + 10 + len(recordData(r))
	}
	return size
}
