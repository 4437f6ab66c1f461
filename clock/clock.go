package clock

import (
	"time"

	utilclock "k8s.io/utils/clock"
)

// Clock is the only source of time in the process. It is k8s.io/utils/clock's
// widest interface, so it can be given to client-go's work queues and to any
// other library that takes a clock.
//
// AfterFunc is the exact way to wait: a virtual clock does not move on before the callback has
// returned. For a channel (After, NewTimer, NewTicker) it does not move on before the value is
// received, but it does not know what the receiver does with it, unless the receiver's work is
// in the ledger.
type Clock = utilclock.WithTickerAndDelayedExecution

// Real returns the machine's clock.
func Real() Clock { return utilclock.RealClock{} }

// Stopwatch measures the machine's own time, whatever clock the cluster runs on.
// It is for figures shown to people (a scenario's real duration, a latency
// metric), never for behaviour.
func Stopwatch() (elapsed func() time.Duration) {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// StopwatchOn is Stopwatch that returns the time on c if that is longer: on virtual time, work may take
// seconds of the cluster and none of the machine.
func StopwatchOn(c Clock) (elapsed func() time.Duration) {
	real := Stopwatch()
	if c == Real() {
		return real
	}
	start := c.Now()
	return func() time.Duration { return max(real(), c.Since(start)) }
}
