package inflight

import (
	"context"
	"slices"
	"sync"
	"time"

	utilclock "k8s.io/utils/clock"
)

// Delays are sleeps that one cause delays and that end early when the cause is gone. The zero
// value is not usable; see NewDelays.
//
// Cut ends them by timers, one for each, because sleepers that all woke at once would go on in any
// order:
//
//	time   work a             work b             the fault
//	0 s    Sleep(1 minute)
//	1 s                       Sleep(1 minute)
//	5 s                                          is removed: Cut
//	5 s    goes on, ends                         (a nanosecond later)
//	5 s                       goes on, ends
type Delays struct {
	clock utilclock.WithDelayedExecution

	mu       sync.Mutex
	sleeping []*delay // in the order of the calls of Sleep
	over     bool
}

// delay is one call of Delays.Sleep.
type delay struct {
	due   Latch
	timer utilclock.Timer
}

// NewDelays returns delays on c.
func NewDelays(c utilclock.WithDelayedExecution) *Delays { return &Delays{clock: c} }

// Sleep is the function Sleep that also returns after Cut and Release.
func (d *Delays) Sleep(ctx context.Context, duration time.Duration) error {
	if err := context.Cause(ctx); err != nil || duration <= 0 {
		return err
	}
	one := d.begin(duration)
	if one == nil {
		return nil
	}
	defer d.end(one)
	return one.due.Wait(ctx)
}

// begin returns nil if no sleep is delayed any more.
func (d *Delays) begin(duration time.Duration) *delay {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return nil
	}
	one := &delay{}
	one.timer = d.clock.AfterFunc(duration, one.due.Open)
	d.sleeping = append(d.sleeping, one)
	return one
}

func (d *Delays) end(one *delay) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one.timer.Stop()
	if i := slices.Index(d.sleeping, one); i >= 0 {
		d.sleeping = slices.Delete(d.sleeping, i, i+1)
	}
}

// Cut ends all sleeps a nanosecond later, in the order in which they began: timers without a delay have
// no order. Later sleeps return at once.
func (d *Delays) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return
	}
	d.over = true
	for _, one := range d.sleeping {
		if one.timer.Stop() {
			one.timer = d.clock.AfterFunc(time.Nanosecond, one.due.Open)
		}
	}
}

// Idle reports whether no work sleeps.
func (d *Delays) Idle() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.sleeping) == 0
}

// Release ends all sleeps without the clock, which may move no more, in any order. Later ones
// return at once.
func (d *Delays) Release() {
	d.mu.Lock()
	d.over = true
	sleeping := slices.Clone(d.sleeping)
	d.mu.Unlock()
	for _, one := range sleeping {
		one.due.Open()
	}
}
