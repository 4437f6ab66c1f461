package main

import (
	"cmp"
	"os"
	"runtime"
	"runtime/debug"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/scenarios"
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

// takeTurns gives the process one processor for each of the clusters on virtual time that run at
// once. The goroutines of such a cluster run in turns: on more processors it is no faster, and
// waking a thread for each turn takes a quarter of the CPU time of a simulated day. GOMAXPROCS in
// the environment overrides it.
func takeTurns(clusters int) {
	if os.Getenv("GOMAXPROCS") == "" && clusters < runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(clusters)
	}
}

// takeTurns is takeTurns for the runs of scenarios, if they are on virtual time.
func (f *scenarioFlags) takeTurns(all []*scenarios.Scenario) {
	if f.onVirtualTime(all) {
		takeTurns(f.parallel)
	}
}

// onVirtualTime reports whether all scenarios run on clusters of their own with a virtual clock.
func (f *scenarioFlags) onVirtualTime(all []*scenarios.Scenario) bool {
	for _, s := range all {
		if mode, _, err := clock.ParseMode(cmp.Or(f.opts.Clock, s.Spec.Cluster.Clock)); err != nil || mode != clock.ModeVirtual {
			return false
		}
	}
	return f.opts.Kubeconfig == ""
}
