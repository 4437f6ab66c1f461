package main

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

// trimAfter is the machine's time from the start of a cluster to trimStart's work. The first heartbeats, and the
// first requests of clients, need most of what the start needed.
const trimAfter = 5 * time.Second

// trimStart returns to the system the memory that only the start of a cluster needed, when trimAfter has passed
// and nothing is in flight: the free part of the heap, and the pages of the program that the start read, which is most of
// them. Pages that are used later are mapped again from the page cache. stop ends the wait for that moment.
func trimStart(cluster *minikcm.Cluster) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if clock.Sleep(ctx, clock.Real(), trimAfter) != nil {
			return
		}
		if cluster.Ledger().WaitIdle(ctx) == nil {
			debug.FreeOSMemory()
			unmapProgram()
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}
