package inflight_test

import (
	"context"
	"testing"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// newLedger returns a ledger, and a function that fails the test if anything is left.
func newLedger(t testing.TB, turns bool) (l *inflight.Ledger) {
	l = inflight.NewLedger()
	if turns {
		l.TakeTurns(1, false)
	}
	t.Cleanup(func() {
		if !l.Idle() {
			t.Errorf("still in flight: %s", l)
		}
	})
	return l
}

func newClock(t testing.TB, l *inflight.Ledger) *clock.Virtual {
	v := clock.NewVirtual(epoch, l)
	t.Cleanup(v.Close)
	return v
}

func wants(t testing.TB, l *inflight.Ledger, want string) {
	t.Helper()
	if got := l.String(); got != want {
		t.Errorf("in flight: %s; want %s", got, want)
	}
}

func advance(t testing.TB, v *clock.Virtual, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := v.Advance(ctx, d); err != nil {
		t.Fatal(err)
	}
}

// ended is a context that has ended: functions that receive it do not wait.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
