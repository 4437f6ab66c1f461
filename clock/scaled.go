package clock

import (
	"fmt"
	"math"
	"sync"
	"time"

	utilclock "k8s.io/utils/clock"
)

// Scaled returns a clock that starts at the machine's time and runs factor times as fast. Its
// timers behave like package time's: channels hold one value, a ticker drops ticks for
// a slow receiver, functions run in goroutines of their own. No timer fires before Now has
// reached its due time. Scaled panics if factor is not a positive, finite number.
func Scaled(factor float64) Clock { return ScaledFrom(time.Now(), factor) }

// ScaledFrom is Scaled for a clock that starts at now, as one in another process shows it.
func ScaledFrom(now time.Time, factor float64) Clock {
	if !(factor > 0) || math.IsInf(factor, 0) {
		panic(fmt.Sprintf("clock: a clock cannot run %v times faster", factor))
	}
	return &scaled{factor: factor, start: time.Now(), first: now.Round(0)}
}

type scaled struct {
	factor float64
	start  time.Time // the machine's
	first  time.Time // what the clock showed then
}

func (s *scaled) Now() time.Time { return s.first.Add(s.elapsed()) }

// elapsed is the cluster's time since start.
func (s *scaled) elapsed() time.Duration {
	d := float64(time.Since(s.start)) * s.factor
	if d >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(d)
}

// machine converts d to the machine's time, rounded up.
func (s *scaled) machine(d time.Duration) time.Duration {
	m := math.Ceil(float64(d) / s.factor)
	if m >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(m)
}

func (s *scaled) Since(t time.Time) time.Duration { return s.Now().Sub(t) }

func (s *scaled) Sleep(d time.Duration) {
	due := later(int64(s.elapsed()), d)
	for left := d; left > 0; left = time.Duration(due) - s.elapsed() {
		time.Sleep(s.machine(left))
	}
}

func (s *scaled) After(d time.Duration) <-chan time.Time { return s.NewTimer(d).C() }

func (s *scaled) Tick(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return s.NewTicker(d).C()
}

func (s *scaled) NewTimer(d time.Duration) utilclock.Timer {
	return s.newTimer(d, 0, nil)
}

func (s *scaled) AfterFunc(d time.Duration, f func()) utilclock.Timer {
	return s.newTimer(d, 0, f)
}

func (s *scaled) NewTicker(d time.Duration) utilclock.Ticker {
	if d <= 0 {
		panic("clock: non-positive interval for NewTicker")
	}
	return scaledTicker{s.newTimer(d, d, nil)}
}

func (s *scaled) newTimer(d, period time.Duration, f func()) *scaledTimer {
	t := &scaledTimer{clock: s, period: period, f: f}
	if f == nil {
		t.ch = make(chan time.Time, 1)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armLocked(d)
	return t
}

// scaledTimer is a timer or a ticker on top of one of the machine's timers.
type scaledTimer struct {
	clock  *scaled
	period time.Duration
	f      func()
	ch     chan time.Time

	mu    sync.Mutex
	timer *time.Timer
	due   time.Duration // of the clock's elapsed
	armed uint64        // counts how often; a machine's timer fires for one of them
	live  bool
}

type scaledTicker struct{ t *scaledTimer }

func (t scaledTicker) C() <-chan time.Time { return t.t.ch }
func (t scaledTicker) Stop()               { t.t.Stop() }

func (t *scaledTimer) C() <-chan time.Time { return t.ch }

func (t *scaledTimer) Stop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stopLocked()
}

func (t *scaledTimer) Reset(d time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	stopped := t.stopLocked()
	t.armLocked(d)
	return stopped
}

func (t *scaledTimer) stopLocked() bool {
	stopped := t.live
	t.live = false
	t.armed++
	t.timer.Stop()
	select { // discard a value that was not received
	case <-t.ch:
		stopped = true
	default:
	}
	return stopped
}

func (t *scaledTimer) armLocked(d time.Duration) {
	t.live = true
	t.armed++
	d = max(d, 0)
	t.due = time.Duration(later(int64(t.clock.elapsed()), d))
	t.sleepLocked(d)
}

func (t *scaledTimer) sleepLocked(d time.Duration) {
	turn := t.armed
	t.timer = time.AfterFunc(t.clock.machine(d), func() { t.fire(turn) })
}

func (t *scaledTimer) fire(turn uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if turn != t.armed {
		return // stopped or reset meanwhile
	}
	now := t.clock.elapsed()
	if left := t.due - now; left > 0 { // the division's rounding
		t.sleepLocked(left)
		return
	}
	switch {
	case t.f != nil:
		t.live = false
		go t.f()
		return
	case t.period == 0:
		t.live = false
	default:
		missed := (now - t.due) / t.period
		t.due += (missed + 1) * t.period
		t.sleepLocked(t.due - now)
	}
	select {
	case t.ch <- t.clock.Now():
	default: // a ticker whose last tick is still there
	}
}
