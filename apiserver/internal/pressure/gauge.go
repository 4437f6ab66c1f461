package pressure

import (
	"fmt"
	"runtime/metrics"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
)

// Level is how near the process is to its memory limit.
type Level int

const (
	// Normal means that there is memory for everything.
	Normal Level = iota
	// High means that 55 % of the limit are in use: requests that take memory
	// and can wait should wait.
	High
	// Critical means that 65 % of the limit are in use: only requests that free memory, or
	// take none, should go on.
	Critical
)

// The garbage collector needs room to work: with more of the limit reachable, it takes most
// of the machine.
const (
	highPercent     = 55
	criticalPercent = 65
	// sampleEvery is the time between two samples, in real time.
	sampleEvery = 10 * time.Millisecond
)

// Gauge compares the memory in use with a limit. The nil Gauge is always Normal.
type Gauge struct {
	limit uint64
	read  func() uint64 // returns the bytes in use

	mu      sync.Mutex
	sampled time.Time
	inUse   uint64
}

// New returns the gauge of a process that may use limit bytes; nil if limit is 0.
func New(limit uint64) *Gauge {
	if limit == 0 {
		return nil
	}
	return &Gauge{limit: limit, read: liveMemory}
}

// liveMemory returns the number of bytes that the last garbage collection found reachable,
// plus the bytes of goroutines' stacks.
func liveMemory() uint64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	var sum uint64
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			sum += s.Value.Uint64()
		}
	}
	return sum
}

// Level returns the present level.
func (g *Gauge) Level() Level {
	if g == nil {
		return Normal
	}
	switch inUse := g.sample(); {
	case inUse >= g.limit/100*criticalPercent:
		return Critical
	case inUse >= g.limit/100*highPercent:
		return High
	}
	return Normal
}

func (g *Gauge) sample() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := clock.Real().Now(); now.Sub(g.sampled) >= sampleEvery {
		g.sampled, g.inUse = now, g.read()
	}
	return g.inUse
}

// String returns the memory in use and the limit, for error messages.
func (g *Gauge) String() string {
	const mebibyte = 1 << 20
	return fmt.Sprintf("%d of %d MiB", g.sample()/mebibyte, g.limit/mebibyte)
}
