package clock_test

import (
	"context"
	"fmt"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// Virtual time stands still while work is in flight, and then jumps from timer to timer.
func ExampleVirtual() {
	ledger := clock.NewLedger()
	virtual := clock.NewVirtual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), ledger)
	defer virtual.Close()
	start := virtual.Now()
	virtual.AfterFunc(time.Minute, func() { fmt.Println("timer fires after", virtual.Since(start)) })

	work := inflight.Begin(ledger, inflight.Request)
	advanced := make(chan error)
	go func() { advanced <- virtual.Advance(context.Background(), time.Hour) }()
	fmt.Println("in flight:", ledger)
	fmt.Println("time passed:", virtual.Since(start))

	work.End() // Advance can move the time now
	if err := <-advanced; err != nil {
		fmt.Println(err)
	}
	fmt.Println("time passed:", virtual.Since(start))
	// Output:
	// in flight: 1 requests
	// time passed: 0s
	// timer fires after 1m0s
	// time passed: 1h0m0s
}
