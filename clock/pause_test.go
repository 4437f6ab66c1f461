package clock_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"minikcm.dev/minikcm/clock"
)

// Work that sleeps lets time pass, its callers' too, and no more than that.
func TestSleep(t *testing.T) {
	t.Parallel()
	ledger := clock.NewLedger()
	v := clock.NewVirtual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), ledger)
	defer v.Close()
	ledger.Begin(clock.Key, 1)
	ledger.Begin(clock.Request, 1)
	ctx := clock.Pausing(clock.Pausing(t.Context(), ledger, clock.Key), ledger, clock.Request)
	done := make(chan struct{})
	var err error
	go func() {
		defer close(done)
		err = clock.Sleep(ctx, v, time.Minute)
		if got := ledger.String(); err == nil && got != "1 requests, 1 queued keys" && got != "1 requests, 1 queued keys, 1 timer callbacks" {
			t.Errorf("after it, in flight: %s", got)
		}
		ledger.End(clock.Key, 1)
		ledger.End(clock.Request, 1)
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
	ledger := clock.NewLedger()
	v := clock.NewVirtual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), ledger)
	defer v.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ledger.Begin(clock.Key, 1)
	ctx = clock.Pausing(ctx, ledger, clock.Key)
	cancel()
	if err := clock.Sleep(ctx, v, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	ledger.End(clock.Key, 1)
	if !ledger.Idle() {
		t.Errorf("in flight: %s", ledger)
	}
}

// A worker who waits is replaced once, however often it waits, and knows that it was.
func TestWorkerIsReplaced(t *testing.T) {
	t.Parallel()
	ledger := clock.NewLedger()
	v := clock.NewVirtual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), ledger)
	defer v.Close()
	substitutes := 0
	ctx, replaced := clock.PausingWorker(t.Context(), ledger, clock.Key, func() { substitutes++ })
	if replaced() {
		t.Error("it is replaced before it waits")
	}
	done := make(chan struct{})
	ledger.Begin(clock.Key, 1)
	go func() {
		defer close(done)
		for range 3 {
			if err := clock.Sleep(ctx, v, time.Minute); err != nil {
				t.Error(err)
			}
		}
		ledger.End(clock.Key, 1)
	}()
	if err := v.Wait(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	if substitutes != 1 || !replaced() {
		t.Errorf("%d substitutes; replaced: %v", substitutes, replaced())
	}
}

// Sleepers of one instant wake in the order in which they went to sleep, although the
// second goes on as soon as the first counts no longer.
func TestSleepersWakeInOrder(t *testing.T) {
	ledger := clock.NewLedger()
	v := clock.NewVirtual(epoch, ledger)
	defer v.Close()
	var mu sync.Mutex
	var order []string
	var work sync.WaitGroup
	sleep := func(name string, asleep func()) {
		ledger.Begin(clock.Action, 1)
		work.Go(func() {
			defer ledger.End(clock.Action, 1)
			ctx := clock.PausingWith(t.Context(), func() {
				asleep()
				ledger.End(clock.Action, 1)
			}, func() { ledger.Begin(clock.Action, 1) })
			if err := clock.Sleep(ctx, v, time.Second); err != nil {
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
