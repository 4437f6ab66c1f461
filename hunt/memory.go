package hunt

import (
	"os"
	"runtime/debug"
	"sync"
)

// gcPercent is the garbage collector's GOGC while a hunt takes place. Clusters come and go, so that the default of 100 has a third of
// the processor time spent on collections.
const gcPercent = 400

// relaxed counts the hunts that take place.
var relaxed struct {
	mu     sync.Mutex
	hunts  int
	before int
}

// relaxGC trades memory for processor time until end is called, unless GOGC is set.
func relaxGC() (end func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	relaxed.mu.Lock()
	defer relaxed.mu.Unlock()
	if relaxed.hunts++; relaxed.hunts == 1 {
		relaxed.before = debug.SetGCPercent(gcPercent)
	}
	return func() {
		relaxed.mu.Lock()
		defer relaxed.mu.Unlock()
		if relaxed.hunts--; relaxed.hunts == 0 {
			debug.SetGCPercent(relaxed.before)
		}
	}
}
