package inflight_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"minikcm.dev/minikcm/internal/inflight"
)

// sleepers begins work that sleeps, one after the other, and records which work wakes.
type sleepers struct {
	t      *testing.T
	ledger *inflight.Ledger
	delays *inflight.Delays
	work   sync.WaitGroup

	mu    sync.Mutex
	awake []string
}

func (s *sleepers) sleep(name string, d time.Duration) {
	w := inflight.Begin(s.ledger, inflight.Request)
	asleep := make(chan struct{})
	s.work.Go(func() {
		defer w.End()
		ctx := inflight.WithPauser(s.t.Context(), asleepFirst{w, sync.OnceFunc(func() { close(asleep) })})
		if err := s.delays.Sleep(ctx, d); err != nil {
			s.t.Error(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.awake = append(s.awake, name)
	})
	<-asleep
}

// Sleeps that are cut short end at that time, in the order in which they began.
func TestDelaysAreCut(t *testing.T) {
	t.Parallel()
	l := newLedger(t, false)
	v := newClock(t, l)
	s := sleepers{t: t, ledger: l, delays: inflight.NewDelays(v)}
	var want []string
	for i := range 20 {
		name := fmt.Sprint(i)
		s.sleep(name, time.Hour-time.Duration(i)*time.Minute)
		want = append(want, name)
	}
	s.sleep("short", time.Second)
	advance(t, v, time.Minute)
	s.delays.Cut()
	advance(t, v, time.Nanosecond)
	s.work.Wait()
	if want = append([]string{"short"}, want...); !slices.Equal(s.awake, want) {
		t.Errorf("they wake in the order %v", s.awake)
	}
	if got := v.Now().Sub(epoch); got != time.Minute+time.Nanosecond {
		t.Errorf("they wake after %v", got)
	}
	if err := s.delays.Sleep(t.Context(), time.Hour); err != nil {
		t.Error(err)
	}
}

// Sleeps that are released end although the clock stands still.
func TestDelaysAreReleased(t *testing.T) {
	t.Parallel()
	l := newLedger(t, false)
	s := sleepers{t: t, ledger: l, delays: inflight.NewDelays(newClock(t, l))}
	s.sleep("a", time.Hour)
	s.sleep("b", time.Minute)
	s.delays.Cut() // its timers cannot fire
	s.delays.Release()
	s.work.Wait()
	if err := s.delays.Sleep(t.Context(), time.Hour); err != nil {
		t.Error(err)
	}
}

// A limit has a timer only while work waits with its context, and counts from its beginning.
func TestLimit(t *testing.T) {
	t.Parallel()
	l := newLedger(t, false)
	v := newClock(t, l)
	errOver := errors.New("over")
	for name, test := range map[string]struct {
		sleeps []time.Duration
		want   error
		took   time.Duration
	}{
		"not reached":      {sleeps: []time.Duration{time.Second, time.Second}, took: 2 * time.Second},
		"at once":          {sleeps: []time.Duration{time.Minute}, want: errOver, took: 5 * time.Second},
		"in a second wait": {sleeps: []time.Duration{3 * time.Second, 3 * time.Second}, want: errOver, took: 5 * time.Second},
	} {
		begun := v.Now()
		w := inflight.Begin(l, inflight.Request)
		ctx, stop := inflight.WithLimitCause(inflight.With(t.Context(), w), v, 5*time.Second, errOver)
		done := make(chan struct{})
		var err error
		var took time.Duration
		go func() {
			defer w.End() // after done, without which the clock takes idleness for a deadlock
			defer close(done)
			defer stop()
			for _, d := range test.sleeps {
				if err = inflight.Sleep(ctx, v, d); err != nil {
					break
				}
			}
			took = v.Since(begun)
		}()
		if waited := v.Wait(t.Context(), done); waited != nil {
			t.Fatal(waited)
		}
		if !errors.Is(err, test.want) || took != test.took {
			t.Errorf("%s: %v after %v", name, err, took)
		}
	}
	if _, set := v.NextTimer(); set {
		t.Error("a timer is left")
	}
}
