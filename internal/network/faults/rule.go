package faults

import (
	"slices"
	"time"

	"minikcm.dev/minikcm/internal/network/ends"
)

// Direction says which packets a rule meets.
type Direction string

// The directions, as seen from a rule's From.
const (
	// Both is the packets between From and To.
	Both Direction = "both"
	// To is the packets from From to To only.
	To Direction = "to"
	// From is the packets from To to From only.
	From Direction = "from"
)

// Rule is a fault of the network between two selections. It must not be changed after Add.
type Rule struct {
	// Title says in reports what the rule does.
	Title string
	// From and To are the ends. Connections in both directions between them are met; with HTTP and one direction, those that begin in it.
	From, To  ends.Set
	Direction Direction
	// Percent is the share of the connections, or of the queries of DNS, that are met.
	Percent int

	// Partition loses all packets.
	Partition bool
	// Loss is the percentage of packets that are lost.
	Loss int
	// Delay is how much longer a packet takes, and Spread the most that is added to it at random.
	Delay, Spread time.Duration
	// Reset ends connections when data comes.
	Reset bool
	// Rate is the bandwidth, in bits a second; 0: unlimited.
	Rate int64
	// HTTP says what happens to requests, and DNS to queries; nil: nothing.
	HTTP *HTTP
	DNS  *DNS

	number uint64
}

// Names reports whether one of the rule's ends has a kind.
func (r *Rule) Names(kind string) bool {
	has := func(e ends.End) bool { return e.Kind == kind }
	return slices.ContainsFunc(r.From, has) || slices.ContainsFunc(r.To, has)
}

// Set holds the rules of a cluster in the order in which they were added. The zero value is empty. It is not safe for concurrent
// use.
type Set struct {
	rules []*Rule
	last  uint64
}

// Empty reports whether there is no rule; a nil Set has none.
func (s *Set) Empty() bool { return s == nil || len(s.rules) == 0 }

// Add adds a rule.
func (s *Set) Add(r *Rule) {
	s.last++
	r.number = s.last
	s.rules = append(slices.Clip(s.rules), r)
}

// Naming returns the rules with an end of a kind.
func (s *Set) Naming(kind string) *Set {
	named := &Set{}
	for _, r := range s.rules {
		if r.Names(kind) {
			named.rules = append(named.rules, r)
		}
	}
	return named
}

// Remove removes a rule.
func (s *Set) Remove(r *Rule) {
	s.rules = slices.DeleteFunc(slices.Clone(s.rules), func(other *Rule) bool { return other == r })
}

// packets reports which packets of a connection a rule meets: those from its source, and those back.
func (r *Rule) packets(from, to *ends.Peer) (there, back bool) {
	if r.From.Selects(from) && r.To.Selects(to) {
		there, back = r.Direction != From, r.Direction != To
	}
	if r.From.Selects(to) && r.To.Selects(from) {
		there, back = there || r.Direction != To, back || r.Direction != From
	}
	return there, back
}
