package inflight_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"minikcm.dev/minikcm/internal/inflight"
)

func TestWork(t *testing.T) {
	type step struct {
		do   func(w *inflight.Work)
		want string
	}
	pause, resume, end := (*inflight.Work).Pause, (*inflight.Work).Resume, (*inflight.Work).End
	const one, none = "1 queued keys", "nothing"
	for name, steps := range map[string][]step{
		"ended twice":            {{end, none}, {end, none}},
		"paused":                 {{pause, none}, {resume, one}, {end, none}},
		"paused by two":          {{pause, none}, {pause, none}, {resume, none}, {resume, one}, {end, none}},
		"ended while it pauses":  {{pause, none}, {end, none}, {resume, none}},
		"paused after its end":   {{end, none}, {pause, none}, {resume, none}},
		"ended by one that lags": {{pause, none}, {pause, none}, {resume, none}, {end, none}, {resume, none}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(t, false)
			w := inflight.Begin(l, inflight.Key)
			wants(t, l, one)
			for _, s := range steps {
				s.do(w)
				wants(t, l, s.want)
			}
		})
	}
}

func TestNothingCountsWithoutALedger(t *testing.T) {
	w := inflight.Begin(nil, inflight.Key)
	ctx := inflight.With(t.Context(), w)
	if inflight.MayPause(ctx) {
		t.Error("what counts nothing may pause")
	}
	w.Pause()
	w.Resume()
	w.End()
	q := inflight.NewQueue(inflight.QueueOptions[string]{})
	q.Add("a")
	key, work, ok := q.Get(t.Context())
	if key != "a" || work != nil || !ok {
		t.Errorf("got %q, %v, %v", key, work, ok)
	}
	q.Done(key)
	q.Close()
	group := inflight.NewGroup(nil, inflight.Key)
	group.Go(func(*inflight.Work) {})
	group.Wait(t.Context())
	gate := inflight.NewGate(nil, inflight.Key, "", "")
	gate.Raise()
	if err := gate.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	gate.Leave()
	flag := inflight.NewFlag(nil, inflight.Event)
	flag.Set(true)
}

// Work that sleeps lets time pass, its callers' too, and no more than that.
func TestSleepPausesTheCallers(t *testing.T) {
	l := newLedger(t, false)
	v := newClock(t, l)
	outer, inner := inflight.Begin(l, inflight.Key), inflight.Begin(l, inflight.Request)
	ctx := inflight.With(inflight.With(t.Context(), outer), inner)
	done := make(chan struct{})
	go func() {
		defer outer.End() // after done, without which the clock takes idleness for a deadlock
		defer inner.End()
		defer close(done)
		if err := inflight.Sleep(ctx, v, time.Minute); err != nil {
			t.Error(err)
		}
		if got := v.Since(epoch); got != time.Minute {
			t.Errorf("it slept %v", got)
		}
	}()
	if err := v.Wait(t.Context(), done); err != nil {
		t.Fatal(err)
	}
}

func TestSleepAlonePausesNoCaller(t *testing.T) {
	l := newLedger(t, false)
	v := newClock(t, l)
	caller := inflight.Begin(l, inflight.Key)
	ctx, cancel := context.WithCancel(inflight.Alone(inflight.With(t.Context(), caller)))
	var sleeping sync.WaitGroup
	sleeping.Go(func() {
		if err := inflight.Sleep(ctx, v, time.Minute); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	wants(t, l, "1 queued keys")
	cancel()
	sleeping.Wait()
	caller.End()
}

// The end of a context counts the work that waits with it before that work notices: time stands
// still until the work has reacted.
func TestCancelIsCounted(t *testing.T) {
	l := newLedger(t, false)
	v := newClock(t, l)
	errOver := errors.New("over")
	w := inflight.Begin(l, inflight.Action)
	ctx, stop := inflight.WithTimeoutCause(inflight.With(t.Context(), w), v, time.Second, errOver)
	defer stop()
	kept := inflight.Begin(l, inflight.Action)
	var sleeping sync.WaitGroup
	sleeping.Go(func() {
		defer w.End()
		inner, cancel := inflight.WithCancelCause(ctx)
		defer cancel(nil)
		if err := inflight.Sleep(inner, v, time.Hour); !errors.Is(err, errOver) {
			t.Error(err)
		}
		if at := v.Since(epoch); at != time.Second {
			t.Errorf("it wakes after %v", at)
		}
	})
	sleeping.Go(func() { // what the end does not reach goes on sleeping
		defer kept.End()
		if err := inflight.Sleep(inflight.With(inflight.Alone(context.WithoutCancel(ctx)), kept), v, 2*time.Second); err != nil {
			t.Error(err)
		}
	})
	v.AfterFunc(time.Second+1, func() {})
	advance(t, v, time.Hour)
	sleeping.Wait()
}

func TestLatch(t *testing.T) {
	l := newLedger(t, false)
	var latch inflight.Latch
	w := inflight.Begin(l, inflight.Key)
	ctx := inflight.With(t.Context(), w)
	waited := make(chan error)
	go func() { waited <- latch.Wait(ctx) }()
	if err := l.WaitIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	latch.Open()
	wants(t, l, "1 queued keys") // though the goroutine may not have run
	if err := <-waited; err != nil {
		t.Error(err)
	}
	latch.Open()
	if err := latch.Wait(ctx); err != nil {
		t.Error(err)
	}
	var closed inflight.Latch
	if err := closed.Wait(inflight.With(ended(), w)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	wants(t, l, "1 queued keys")
	w.End()
}

// The work that waits for a group counts again before the last of its goroutines does
// not.
func TestGroup(t *testing.T) {
	for _, n := range []int{0, 1, 5} {
		l := newLedger(t, false)
		v := newClock(t, l)
		w := inflight.Begin(l, inflight.Key)
		group := inflight.NewGroup(l, inflight.Action)
		for i := range n {
			group.Go(func(own *inflight.Work) {
				if err := inflight.Sleep(inflight.With(t.Context(), own), v, time.Duration(i)*time.Second); err != nil {
					t.Error(err)
				}
			})
		}
		done := make(chan struct{})
		go func() {
			defer w.End() // after done, without which the clock takes idleness for a deadlock
			defer close(done)
			group.Wait(inflight.With(t.Context(), w))
			if got, want := v.Since(epoch), time.Duration(max(n-1, 0))*time.Second; got != want {
				t.Errorf("%d goroutines: it has waited %v, want %v", n, got, want)
			}
		}()
		if err := v.Wait(t.Context(), done); err != nil {
			t.Fatal(err)
		}
		group.Close()
		if group.Go(func(*inflight.Work) {}) {
			t.Error("a closed group starts a goroutine")
		}
	}
}

// Work in a group that begins in its turn waits for all other work in flight.
func TestGroupInTurn(t *testing.T) {
	l := inflight.NewLedger()
	l.TakeTurns(1, false)
	g := inflight.NewGroup(l, inflight.Action)
	before := inflight.Begin(l, inflight.Request)
	var order []string // written by one piece of work at a time
	for _, key := range []string{"a", "b"} {
		if !g.GoInTurn(t.Context(), "probe", key, func(w *inflight.Work) {
			if l.Idle() {
				t.Error("it runs and is not counted")
			}
			order = append(order, key)
		}) {
			t.Error("it has not started")
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	g.GoInTurn(ended, "probe", "c", func(*inflight.Work) { t.Error("it runs although its context has ended") })
	if len(order) > 0 {
		t.Errorf("%q began beside other work", order)
	}
	before.End()
	g.Close()
	if len(order) != 2 || !l.Idle() {
		t.Errorf("%q ran; %s", order, l)
	}
	if g.GoInTurn(t.Context(), "probe", "d", func(*inflight.Work) {}) {
		t.Error("a closed group starts something")
	}
}

func TestFlagAndTally(t *testing.T) {
	l := newLedger(t, false)
	flag, tally := inflight.NewFlag(l, inflight.Event), inflight.NewTally(l, inflight.Event)
	flag.Set(true)
	flag.Set(true)
	tally.Add(3)
	tally.Add(-1)
	wants(t, l, "3 watch events")
	flag.Set(false)
	flag.Set(false)
	wants(t, l, "2 watch events")
	tally.Clear()
	wants(t, l, "nothing")
	defer func() {
		if recover() == nil {
			t.Error("a tally ended what it had not begun")
		}
		tally.Clear()
	}()
	tally.Add(-1)
}
