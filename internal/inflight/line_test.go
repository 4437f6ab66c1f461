package inflight_test

import (
	"testing"

	"minikcm.dev/minikcm/internal/inflight"
)

// Tickets that are withdrawn, given back and ended, with and without turns.
func TestLine(t *testing.T) {
	for _, turns := range []bool{false, true} {
		l := newLedger(t, turns)
		line := inflight.NewLine[string](l, inflight.Key, "line")
		next := func() *inflight.Ticket[string] {
			t.Helper()
			ticket, ok := line.Next(ended())
			if !ok {
				t.Fatalf("turns %v: nothing is next, in flight: %s", turns, l)
			}
			return ticket
		}
		none := func() {
			t.Helper()
			if ticket, ok := line.Next(ended()); ok {
				t.Fatalf("turns %v: %s is next", turns, ticket.Value)
			}
		}
		a := line.Join("a", "a")
		b := line.Join("b", "b")
		if !a.Withdraw() { // it had been granted, or was ready
			t.Error("it is not in line")
		}
		if turns {
			none() // it is a's turn still
		}
		a.End()
		if got := next(); got != b || b.Withdraw() {
			t.Errorf("turns %v: next is %s", turns, got.Value)
		}
		b.Return()
		if got := next(); got != b {
			t.Errorf("turns %v: next is %s", turns, got.Value)
		}
		b.Work().Pause()
		wants(t, l, "nothing")
		b.Work().Resume()
		b.End()
		b.End()
		none()
		line.Close()
		if _, ok := line.Next(t.Context()); ok {
			t.Error("a closed line has a next")
		}
	}
}

// Work that ends while it is granted, and before a worker asks for it, leaves the line to others.
func TestGrantThatNoWorkerTakes(t *testing.T) {
	l := newLedger(t, true)
	line := inflight.NewLine[string](l, inflight.Key, "line")
	before := inflight.Begin(l, inflight.Start)
	var tickets []*inflight.Ticket[string]
	for _, name := range []string{"a", "b", "c", "d"} {
		tickets = append(tickets, line.Join(name, name))
	}
	before.End()
	for _, ticket := range tickets {
		ticket.End()
	}
	wants(t, l, "nothing")
}
