package faults

import (
	"time"

	"minikcm.dev/minikcm/internal/network/ends"
)

// Effect says what the faults do to one connection.
type Effect struct {
	// Hits are the rules that meet the connection, whether they do something to it or not.
	Hits []*Rule
	// Dropped loses all packets of one direction, or each of the packets that begin the connection; nil if some arrive.
	Dropped *Rule
	// Reset ends the connection when data comes; nil: none does.
	Reset *Rule
	// Connect is how much longer it takes until the connection is established, Exchange until a request is answered.
	Connect, Exchange time.Duration
	// RoundTrip is the part of both that the way takes.
	RoundTrip time.Duration
	// Stalled means that neither a request nor its repetitions arrive.
	Stalled bool
	// Rate is the bandwidth, in bits a second; 0: unlimited.
	Rate int64
	// HTTP are the rules that meet requests on the connection.
	HTTP []*Rule
}

// The retransmissions of Linux with its defaults.
const (
	// connectAttempts is the number of SYNs, with tcp_syn_retries 6, and connectWait the time after the first; it doubles.
	connectAttempts = 7
	connectWait     = time.Second
	// dataAttempts is the number of times that data is sent, with tcp_retries2 15, and dataWait the time after the first; it
	// doubles up to maxDataWait.
	dataAttempts = 16
	dataWait     = 200 * time.Millisecond
	maxDataWait  = 120 * time.Second
)

// Between decides what the rules do to a connection. Partitions come first: what else happens does not matter then.
func (s *Set) Between(from, to *ends.Peer, c *Chance) *Effect {
	e := &Effect{}
	if s.Empty() {
		return e
	}
	for _, r := range s.rules {
		there, back := r.packets(from, to)
		if !there && !back || r.DNS != nil {
			continue
		}
		if r.HTTP != nil && r.Direction != Both && !there {
			continue
		}
		e.Hits = append(e.Hits, r)
		if r.HTTP != nil {
			e.HTTP = append(e.HTTP, r)
			continue
		}
		if !c.happens(r, purposeHit, 0, r.Percent) {
			continue
		}
		if r.Partition && e.Dropped == nil {
			e.Dropped = r
		}
		if r.Reset && e.Reset == nil {
			e.Reset = r
		}
		if r.Rate > 0 && (e.Rate == 0 || r.Rate < e.Rate) {
			e.Rate = r.Rate
		}
		e.delay(r, c, there, back)
		e.lose(r, c, there, back)
	}
	return e
}

// delay adds the time that a rule makes packets take. The connection and a request each take a packet there and one back.
func (e *Effect) delay(r *Rule, c *Chance, there, back bool) {
	for _, way := range []struct {
		met     bool
		purpose uint64
	}{{there, purposeThere}, {back, purposeBack}} {
		if way.met && r.Delay+r.Spread > 0 {
			d := r.Delay + c.upTo(r, way.purpose, r.Spread)
			e.RoundTrip += d
			e.Connect += d
			e.Exchange += d
		}
	}
}

// lose repeats packets that a rule loses.
func (e *Effect) lose(r *Rule, c *Chance, there, back bool) {
	if r.Loss == 0 {
		return
	}
	lost := func(purpose, n uint64) bool {
		return there && c.happens(r, purpose, 2*n, r.Loss) || back && c.happens(r, purpose, 2*n+1, r.Loss)
	}
	for n, wait := uint64(0), connectWait; lost(purposeConnect, n); n, wait = n+1, 2*wait {
		if n == connectAttempts-1 {
			if e.Dropped == nil {
				e.Dropped = r
			}
			return
		}
		e.Connect += wait
	}
	// A segment is repeated if it is lost, or its acknowledgement.
	for _, purpose := range []uint64{purposeRequest, purposeAnswer} {
		for n, wait := uint64(0), dataWait; lost(purpose, n); n, wait = n+1, min(2*wait, maxDataWait) {
			e.Exchange += wait
			if n == dataAttempts-1 {
				e.Stalled = true
				return
			}
		}
	}
}

// Transfer returns how long so many bytes take.
func (e *Effect) Transfer(bytes int) time.Duration {
	if e == nil || e.Rate == 0 {
		return 0
	}
	return time.Duration(float64(bytes) * 8 / float64(e.Rate) * float64(time.Second))
}
