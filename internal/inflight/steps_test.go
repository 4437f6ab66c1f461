package inflight_test

import (
	"testing"

	"minikcm.dev/minikcm/internal/inflight"
)

// Work that is paused waits until it is stepped, in the order in which it joined, and so does what it
// hands on.
func TestSteps(t *testing.T) {
	l := newLedger(t, false)
	line, other := inflight.NewLine[string](l, inflight.Key, "line"), inflight.NewLine[string](l, inflight.Key, "other")
	running := line.Join("before", "before")
	l.PauseWork()
	if got, ok := line.Next(ended()); !ok || got != running {
		t.Fatal("work that had joined before is paused")
	}
	line.Join("a", "a")
	b := other.Join("b", "b")
	running.End()
	wants(t, l, "nothing; waiting for their turn: 2 queued keys")
	if next, count := l.Paused(); next != "line a" || count != 2 {
		t.Errorf("%d pieces are paused, and next is %q", count, next)
	}
	if _, ok := line.Next(ended()); ok {
		t.Fatal("paused work is given to a worker")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		got, _ := line.Next(t.Context())
		line.Join("c", got.Value+" and c")
		got.End()
	}()
	if name, err := l.Step(t.Context()); name != "line a" || err != nil {
		t.Fatalf("a step takes %q, error %v", name, err)
	}
	<-done
	wants(t, l, "nothing; waiting for their turn: 2 queued keys")
	if !b.Withdraw() {
		t.Error("paused work is not in line")
	}
	b.End()
	l.ResumeWork()
	if got, ok := line.Next(ended()); !ok || got.Value != "a and c" {
		t.Fatal("released work does not go on")
	} else {
		got.End()
	}
	if name, err := l.Step(t.Context()); name != "" || err != nil {
		t.Errorf("without work, a step takes %q, error %v", name, err)
	}
}

// A step waits for work that is in flight, and no longer than its context.
func TestStepEndsWithItsContext(t *testing.T) {
	l := newLedger(t, false)
	l.PauseWork()
	work := inflight.Begin(l, inflight.Request)
	if _, err := l.Step(ended()); err == nil {
		t.Error("a step does not wait for a request")
	}
	work.End()
	if _, err := l.Step(t.Context()); err != nil {
		t.Error(err)
	}
}
