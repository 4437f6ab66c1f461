package inflight_test

import (
	"context"
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
	if next, count := l.Next(); next.Name != "line" || next.Key != "a" || count != 2 {
		t.Errorf("%d pieces are paused, and next is %+v", count, next)
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
	if taken, err := l.Step(t.Context()); taken == nil || taken.Key != "a" || err != nil {
		t.Fatalf("a step takes %+v, error %v", taken, err)
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
	if taken, err := l.Step(t.Context()); taken != nil || err != nil {
		t.Errorf("without work, a step takes %+v, error %v", taken, err)
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

// While stages are held, work stops at them, before work that waits for a worker, and a Release lets all go on.
func TestStages(t *testing.T) {
	l := newLedger(t, false)
	line := inflight.NewLine[string](l, inflight.Key, "line")
	at := func(stage string) inflight.Waiting {
		return inflight.Waiting{Kind: inflight.Key, Name: "line", Key: "a", Detail: stage}
	}
	l.StopAt(t.Context(), inflight.Key, at("nowhere")) // nothing holds
	l.PauseStages()
	line.Join("a", "a")
	line.Join("b", "b")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a, _ := line.Next(t.Context())
		l.StopAt(t.Context(), inflight.Key, at("decided"))
		event := make(chan struct{})
		arrival := l.Arrive(inflight.Event, at("event"), func() { close(event) })
		a.End()
		<-event
		arrival.End()
	}()
	for _, want := range []any{nil, "decided", "event"} {
		taken, err := l.Step(t.Context())
		if err != nil || taken == nil || taken.Detail != want || taken.Key != "a" {
			t.Fatalf("a step takes %+v, error %v; want the stage %v", taken, err, want)
		}
	}
	<-ended
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	running := inflight.Begin(l, inflight.Key)
	l.StopAt(cancelled, inflight.Key, at("never"))
	wants(t, l, "1 queued keys; waiting for their turn: 1 queued keys")
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		l.StopAt(t.Context(), inflight.Key, at("released"))
		running.End()
	}()
	l.PauseWork() // ends the hold of stages only
	l.ResumeWork()
	<-stopped
	b, _ := line.Next(t.Context())
	b.End()
	wants(t, l, "nothing")
}
