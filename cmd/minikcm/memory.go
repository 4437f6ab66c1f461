package main

import (
	"os"
	"runtime/debug"
)

const (
	// gcPercent is the GOGC value for scenario runs: the heap growth between two garbage
	// collections, in percent of the live heap. At Go's default of 100, garbage collection
	// takes a fifth of the CPU time of a simulated day.
	gcPercent = 400
	// memoryLimit is the GOMEMLIMIT in bytes, above which collections become more frequent.
	memoryLimit = 1 << 30
)

// relaxGC trades memory for CPU time. GOGC and GOMEMLIMIT in the environment override it.
func relaxGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
