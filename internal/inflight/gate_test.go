package inflight_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"minikcm.dev/minikcm/internal/inflight"
)

// A raised gate's work goes on before time does, and, where work takes turns, after the work that
// raised it.
func TestGate(t *testing.T) {
	for _, turns := range []bool{false, true} {
		l := newLedger(t, turns)
		v := newClock(t, l)
		gate := inflight.NewGate(l, inflight.Action, inflight.First, "gate")
		v.AfterFunc(time.Second, gate.Raise)
		var at time.Duration
		var work sync.WaitGroup
		work.Go(func() {
			defer gate.Leave()
			if err := gate.Wait(t.Context()); err != nil {
				t.Error(err)
			}
			at = v.Since(epoch)
			gate.Raise() // it does not wait: the next time it returns at once
			if err := gate.Wait(t.Context()); err != nil {
				t.Error(err)
			}
			if err := gate.Yield(t.Context()); err != nil {
				t.Error(err)
			}
			if err := inflight.Sleep(inflight.WithPauser(t.Context(), gate), v, time.Second); err != nil {
				t.Error(err)
			}
		})
		v.AfterFunc(time.Second+1, func() {})
		advance(t, v, time.Hour)
		work.Wait()
		if at != time.Second {
			t.Errorf("turns %v: it is raised after %v", turns, at)
		}
	}
}

// A gate whose context ends while it waits, or while it waits for its turn, is in flight.
func TestGateEnds(t *testing.T) {
	errOver := errors.New("over")
	for _, turns := range []bool{false, true} {
		for _, raised := range []bool{false, true} {
			l := newLedger(t, turns)
			gate := inflight.NewGate(l, inflight.Action, inflight.First, "gate")
			ctx, cancel := context.WithCancelCause(t.Context())
			waited := make(chan error)
			go func() { waited <- gate.Wait(ctx) }()
			if err := l.WaitIdle(t.Context()); err != nil {
				t.Fatal(err)
			}
			other := inflight.Begin(l, inflight.Start)
			if raised {
				gate.Raise()
			}
			if !turns && raised {
				if err := <-waited; err != nil {
					t.Error(err)
				}
				cancel(errOver)
			} else {
				cancel(errOver)
				if err := <-waited; !errors.Is(err, errOver) {
					t.Errorf("turns %v, raised %v: %v", turns, raised, err)
				}
			}
			wants(t, l, "1 kubelet actions, 1 starting parts")
			gate.Leave()
			other.End()
		}
	}
}

// What comes last comes after all that is done at the instant.
func TestAtLast(t *testing.T) {
	l := newLedger(t, true)
	q := inflight.NewQueue(inflight.QueueOptions[string]{Ledger: l, Name: "queue"})
	var order []string
	before := inflight.Begin(l, inflight.Start)
	over := make(chan struct{})
	inflight.AtLast(l, inflight.Action, "limit", func() {
		order = append(order, "last")
		close(over)
	})
	q.Add("a")
	q.Add("b")
	before.End()
	for range 2 {
		key, _, _ := q.Get(t.Context())
		order = append(order, "key")
		q.Done(key)
	}
	<-over
	if want := []string{"key", "key", "last"}; !slices.Equal(order, want) {
		t.Errorf("got %v", order)
	}
	q.Close()
	if err := l.WaitIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	without := inflight.NewLedger()
	called := false
	inflight.AtLast(without, inflight.Action, "limit", func() { called = true })
	if !called {
		t.Error("without turns it is not called at once")
	}
}
