package inflight_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"minikcm.dev/minikcm/internal/inflight"
)

// Work that sleeps lets time pass, its callers' too, and no more than that.
func TestSleep(t *testing.T) {
	t.Parallel()
	l := newLedger(t, false)
	v := newClock(t, l)
	outer, inner := inflight.Begin(l, inflight.Key), inflight.Begin(l, inflight.Request)
	ctx := inflight.With(inflight.With(t.Context(), outer), inner)
	done := make(chan struct{})
	var err error
	go func() {
		defer outer.End() // after done, without which the clock takes idleness for a deadlock
		defer inner.End()
		defer close(done)
		err = inflight.Sleep(ctx, v, time.Minute)
		if got := l.String(); err == nil && got != "1 requests, 1 queued keys" && got != "1 requests, 1 queued keys, 1 timer callbacks" {
			t.Errorf("after it, in flight: %s", got)
		}
	}()
	begun := v.Now()
	if waited := v.Wait(t.Context(), done); waited != nil || err != nil {
		t.Fatal(waited, err)
	}
	if took := v.Since(begun); took != time.Minute {
		t.Errorf("it took %v", took)
	}
}

func TestSleepEnds(t *testing.T) {
	t.Parallel()
	l := newLedger(t, false)
	v := newClock(t, l)
	ctx, cancel := context.WithCancel(t.Context())
	w := inflight.Begin(l, inflight.Key)
	cancel()
	if err := inflight.Sleep(inflight.With(ctx, w), v, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	w.End()
}

// asleepFirst is work that says when it pauses.
type asleepFirst struct {
	*inflight.Work
	asleep func()
}

func (a asleepFirst) Pause() {
	a.asleep()
	a.Work.Pause()
}

// Sleepers of one instant wake in the order in which they went to sleep, although the
// second goes on as soon as the first counts no longer.
func TestSleepersWakeInOrder(t *testing.T) {
	l := newLedger(t, false)
	v := newClock(t, l)
	var mu sync.Mutex
	var order []string
	var work sync.WaitGroup
	sleep := func(name string, asleep func()) {
		w := inflight.Begin(l, inflight.Action)
		work.Go(func() {
			defer w.End()
			if err := inflight.Sleep(inflight.WithPauser(t.Context(), asleepFirst{w, asleep}), v, time.Second); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			order = append(order, name)
		})
	}
	sleep("first", func() {
		asleep := make(chan struct{})
		sleep("second", func() { close(asleep) })
		<-asleep
	})
	advance(t, v, time.Second)
	work.Wait()
	if got := strings.Join(order, " "); got != "first second" {
		t.Errorf("they wake in the order: %s", got)
	}
}
