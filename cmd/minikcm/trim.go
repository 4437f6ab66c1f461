package main

import (
	"context"
	"runtime/debug"
	"sync"

	"minikcm.dev/minikcm"
)

// trimStart returns to the system the memory that only the start of a cluster needed, as soon as nothing is
// in flight: the free part of the heap, and the pages of the program that the start read, which is most of
// them. Pages that are used later are mapped again from the page cache. stop ends the wait for that moment.
func trimStart(cluster *minikcm.Cluster) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
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
