package main

import (
	"os"
	"runtime/debug"
)

const (
	// roomyPercent is how much a scenario's run lets the heap grow between two
	// collections, in percent of what is in use: at Go's own 100, collecting is a fifth of
	// what a simulated day costs.
	roomyPercent = 400
	// roomyBytes is where it is collected more often all the same.
	roomyBytes = 1 << 30
)

// takeRoom trades memory for time, unless the environment says what it wants.
func takeRoom() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(roomyPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(roomyBytes)
	}
}
