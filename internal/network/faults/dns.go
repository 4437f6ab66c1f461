package faults

import (
	"net/netip"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/network/dns"
	"minikcm.dev/minikcm/internal/network/ends"
)

// DNS says what happens to a query.
type DNS struct {
	// Names are patterns of names, in which * stands for any text and ? for a character; empty: all names. A name is absolute, or one
	// that a program completes by its search list, unless it ends with a dot.
	Names []string
	// Code answers with this code; dns.NoError: with Address, or a random one if that is not valid.
	Code    dns.Code
	Address netip.Addr
}

// The times of the C library's resolver: it waits so long for an answer, and asks twice.
const (
	queryTimeout  = 5 * time.Second
	queryAttempts = 2
)

// Query decides about a query of a name: the faults lose it, or let it take longer.
func (e *Effect) Query(c *Chance) (lost *Rule, took time.Duration) {
	if e.Dropped != nil {
		return e.Dropped, 0
	}
	for n := range uint64(queryAttempts) {
		by := e.loses(c, n)
		if by == nil {
			return nil, took + e.RoundTrip
		}
		lost = by
		took += queryTimeout
	}
	return lost, 0
}

// loses returns the rule that loses the n-th attempt of a query: its packet or the answer's, or makes it late.
func (e *Effect) loses(c *Chance, n uint64) *Rule {
	for _, r := range e.Hits {
		if c.happens(r, purposeQuery, 2*n, r.Loss) || c.happens(r, purposeQuery, 2*n+1, r.Loss) || r.Delay > 0 && e.RoundTrip > queryTimeout {
			return r
		}
	}
	return nil
}

// Answers returns what answers a source's queries in place of the name server; nil if nothing does. Its second result is the rule
// that answers; nil if the name server does. searches is the search list of the source.
func (s *Set) Answers(from *ends.Peer, searches []string, c *Chance) func(name string, t dns.Type) (dns.Answer, *Rule) {
	if s.Empty() {
		return nil
	}
	var rules []*Rule
	for _, r := range s.rules {
		if r.DNS != nil && r.From.Selects(from) {
			rules = append(rules, r)
		}
	}
	if rules == nil {
		return nil
	}
	return func(name string, t dns.Type) (dns.Answer, *Rule) {
		for _, r := range rules {
			if asked, ok := r.DNS.matches(name, searches); ok && c.happens(r, purposeQuery, sum(asked), r.Percent) {
				return r.DNS.answer(name, t, c, r), r
			}
		}
		return dns.Answer{}, nil
	}
}

// matches reports whether a pattern matches an absolute name, or what a program has written that completed it by a search list. It returns
// the name that has the form of the pattern.
func (d *DNS) matches(name string, searches []string) (asked string, ok bool) {
	for _, pattern := range d.Names {
		pattern, isAbsolute := strings.CutSuffix(strings.ToLower(pattern), ".")
		if matches(pattern, name) {
			return name, true
		}
		for _, search := range searches {
			written, ok := strings.CutSuffix(name, "."+strings.ToLower(strings.Trim(search, ".")))
			if ok && !isAbsolute && matches(pattern, written) {
				return written, true
			}
		}
	}
	return name, len(d.Names) == 0
}

// answer is a wrong answer. A random address is one of 198.18.0.0/15, which no cluster uses.
func (d *DNS) answer(name string, t dns.Type, c *Chance, r *Rule) dns.Answer {
	address := d.Address
	if !address.IsValid() {
		n := c.draw(r, purposeAddress, sum(name))
		address = netip.AddrFrom4([4]byte{198, 18 + byte(n>>16)&1, byte(n >> 8), byte(n)})
	}
	answer := dns.Answer{Code: d.Code}
	if d.Code == dns.NoError && (t == dns.A && address.Is4() || t == dns.AAAA && address.Is6()) {
		answer.Records = []dns.Record{{Name: name, Type: t, Address: address}}
	}
	return answer
}

// sum returns a number that follows from a text.
func sum(text string) uint64 {
	n := uint64(14695981039346656037) // FNV-1a
	for _, b := range []byte(text) {
		n = (n ^ uint64(b)) * 1099511628211
	}
	return n
}

// matches reports whether a text has the form of a pattern, in which * stands for any text and ? for one character.
func matches(pattern, text string) bool {
	p, t, star, from := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p, t = p+1, t+1
		case star >= 0: // the last * stands for one more character
			from++
			p, t = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
