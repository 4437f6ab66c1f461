package inflight_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// A queue counts its keys, and a key's work may let virtual time pass. Nothing here
// begins or ends a count.
func Example() {
	ledger := inflight.NewLedger()
	ledger.TakeTurns(1, false)
	virtual := clock.NewVirtual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), ledger)
	defer virtual.Close()
	start := virtual.Now()

	queue := inflight.NewQueue(inflight.QueueOptions[string]{Ledger: ledger, Name: "example"})
	var work sync.WaitGroup
	work.Go(func() {
		queue.Run(context.Background(), 1, func(ctx context.Context, key string) {
			fmt.Println(key, "begins after", virtual.Since(start))
			_ = inflight.Sleep(ctx, virtual, time.Hour) // its context does not end
			fmt.Println(key, "ends after", virtual.Since(start))
		})
	})
	queue.Add("backup")
	if err := virtual.Advance(context.Background(), 24*time.Hour); err != nil {
		fmt.Println(err)
	}
	fmt.Println("in flight:", ledger)
	queue.Close()
	work.Wait()
	// Output:
	// backup begins after 0s
	// backup ends after 1h0m0s
	// in flight: nothing
}
