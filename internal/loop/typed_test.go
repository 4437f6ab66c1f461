package loop_test

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/loop"
)

// A key may be of any type, and an offered key is worked on only if it is not settled.
func TestKeysOfAnotherType(t *testing.T) {
	ledger := clock.NewLedger()
	ledger.TakeTurns(1, false)
	var mu sync.Mutex
	seen, settled := map[int]int{}, false
	l := loop.NewTyped(loop.TypedOptions[int]{
		Name: "numbers", Ledger: ledger, KeyName: strconv.Itoa, Kind: inflight.Action,
		Settled: func(int) bool { return settled },
	}, loop.TypedFunc[int](func(_ context.Context, n int) (loop.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		seen[n]++
		return loop.Result{}, nil
	}))
	l.Add(1)
	l.Offer(2)
	if got := ledger.String(); got != "1 kubelet actions; waiting for their turn: 1 kubelet actions" {
		t.Errorf("in flight: %s", got)
	}
	settled = true
	l.Offer(3)
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() {
		if err := l.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := ledger.WaitIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	cancel()
	run.Wait()
	if seen[1] != 1 || seen[2] != 1 || seen[3] != 0 {
		t.Errorf("reconciled %v", seen)
	}
	if s := l.Stats(); s.Reconciles != 2 || s.Name != "numbers" {
		t.Errorf("Stats() = %+v", s)
	}
}
