package upkeep_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"minikcm.dev/minikcm/apiserver/internal/upkeep"
	"minikcm.dev/minikcm/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestPeriodic advances a virtual clock: the first call comes after one interval, and none after Stop.
func TestPeriodic(t *testing.T) {
	virtual := clock.NewVirtual(time.Unix(0, 0), clock.NewLedger())
	defer virtual.Close()
	advance := func(d time.Duration) {
		t.Helper()
		if err := virtual.Advance(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	calls := 0
	var given context.Context
	p := upkeep.Start(virtual, time.Minute, func(ctx context.Context) { calls, given = calls+1, ctx })
	for _, step := range []struct {
		by   time.Duration
		want int
	}{{59 * time.Second, 0}, {time.Second, 1}, {3 * time.Minute, 4}} {
		if advance(step.by); calls != step.want {
			t.Errorf("after another %s there were %d calls, want %d", step.by, calls, step.want)
		}
	}
	p.Stop()
	if given.Err() == nil {
		t.Error("Stop did not end what a call waits for")
	}
	if advance(time.Hour); calls != 4 {
		t.Errorf("%d calls after Stop", calls-4)
	}
	(*upkeep.Periodic)(nil).Stop()
}
