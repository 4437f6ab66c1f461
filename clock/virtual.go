package clock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"minikcm.dev/minikcm/internal/inflight"
)

// ErrDeadlock is returned by Virtual.Wait if nothing is in flight and no timer is set, so that
// the channel it waits for can never be closed.
var ErrDeadlock = errors.New("deadlock: nothing is in flight and no timer is set")

// ErrClosed is returned by the methods that wait, after Close.
var ErrClosed = errors.New("the virtual clock is closed")

// Virtual is a clock that moves only during Advance and Wait, and only while its ledger counts
// no work in flight. It then jumps to the next timer. It guarantees:
//
//   - It never jumps while anything is in flight. The check and the jump are atomic: work
//     that begins later begins at the new time.
//   - Timers fire in the order of their due times, and those with the same due time in the
//     order in which they were created or last Reset. When a timer fires, Now is exactly its
//     due time.
//   - The functions of AfterFunc run one after another, in that order. Each is counted as
//     Callback from its due time until it has returned. The next one of the same instant
//     starts when all work that the previous one started has ended or waits for its turn
//     (inflight.Line). A timer with d <= 0 does not wait for other functions, because the
//     function that set it may be waiting for it.
//   - The value of a timer or ticker is counted as Tick from its due time until it is
//     received, or discarded by Stop or Reset. Time stands still until then: a ticker drops
//     no ticks, and a channel that is never read (After in a select that took another case)
//     stops time for good. Use NewTimer with Stop, or AfterFunc. The clock does not know
//     what a receiver does with the value, unless the receiver's work is in the ledger.
//   - A timer with d <= 0 fires at once, even outside Advance and Wait.
//
// Two functions of AfterFunc, A and B, are due at 10:02, and A queues a key for a worker:
//
//	time   Advance(1h)              the clock's queue      a worker            the ledger counts
//	10:00  step: jump to 10:02                                                 nothing
//	10:02  waits for idle           A and B are due                            A and B, which wait
//	                                A runs: adds the key                       A, the key; B waits
//	                                A returns              gets the key        the key; B waits
//	                                waits for quiet        writes, ends        B, which waits
//	                                B runs, returns                            nothing: idle
//	10:02  step: no timer is due
//	       before 11:00: Rest
//	11:00  returns                                                             nothing
//
// If B did not wait for the worker, whether it saw the worker's write would depend on the machine. If the
// jump did not wait for the worker, the write would be made at 11:00.
//
// A function of AfterFunc may create, stop and reset timers. It must not wait for time to
// pass, nor for the function of another timer.
//
// The zero value is not usable. All methods are safe for concurrent use.
type Virtual struct {
	start  time.Time
	now    atomic.Int64 // nanoseconds since start; written under mu, within Timeline.Jump and Rest
	jumped atomic.Int64 // by how much more Now has moved than timers know of
	ledger *Ledger      // never nil
	line   inflight.Timeline

	mu      sync.Mutex // held while the ledger is asked, never the other way round
	armed   timerHeap
	queue   []*virtualTimer // due, waiting for their turn, in order
	running bool            // the goroutine that empties queue exists
	created uint64
	urgent  chan struct{} // has a value when queue has got an urgent timer
	stops   []*stop
	changed chan struct{} // closed and replaced when a stop is taken away

	closed  chan struct{}
	isOpen  bool
	routine sync.WaitGroup
}

var _ Clock = (*Virtual)(nil)

// stop is the end of an Advance: no jump goes beyond it before that Advance has returned.
type stop struct{ at int64 }

// NewVirtual returns a clock that stands at start. The ledger counts its timers, and the clock
// does not move while the ledger counts any work. With a nil ledger, only the timers
// themselves hold the time. Close releases the clock.
func NewVirtual(start time.Time, ledger *Ledger) *Virtual {
	if ledger == nil {
		ledger = NewLedger()
	}
	return &Virtual{
		start:   start.Round(0), // without the machine's monotonic reading
		ledger:  ledger,
		line:    ledger.Timeline(),
		urgent:  make(chan struct{}, 1),
		changed: make(chan struct{}),
		closed:  make(chan struct{}),
		isOpen:  true,
	}
}

// Now returns the cluster's time.
func (v *Virtual) Now() time.Time { return v.at(v.now.Load()) }

// Since returns the cluster's time that has passed since t.
func (v *Virtual) Since(t time.Time) time.Duration { return v.Now().Sub(t) }

// NextTimer returns when the next timer is due that waits for time to pass; false if there is
// none.
func (v *Virtual) NextTimer() (due time.Time, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.armed) == 0 {
		return time.Time{}, false
	}
	return v.at(v.armed[0].due), true
}

func (v *Virtual) at(offset int64) time.Time {
	return v.start.Add(time.Duration(offset + v.jumped.Load()))
}

// Jump sets the time forward or back, like a change of a machine's clock: it does not change
// how long the pending timers take to fire.
func (v *Virtual) Jump(d time.Duration) { v.jumped.Add(int64(d)) }

// Advance moves the time by d. It fires every timer that is due on the way at its due time,
// waits after each instant until nothing is in flight, and returns when the time is exactly d
// later than at the call and nothing is in flight. Concurrent calls of Advance and Wait do not
// move the time beyond that point before Advance has returned.
//
// If ctx ends first, the time stays where it is, and the error says what is in flight.
func (v *Virtual) Advance(ctx context.Context, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("advancing the virtual clock by %v: time does not go back", d)
	}
	v.mu.Lock()
	own := &stop{at: later(v.now.Load(), d)}
	v.stops = append(v.stops, own)
	v.mu.Unlock()
	defer v.removeStop(own)
	if err := v.move(ctx, nil, own); err != nil {
		return fmt.Errorf("advancing the virtual clock by %v: %w", d, err)
	}
	return nil
}

// Wait moves the time from timer to timer until done is closed. It returns ErrDeadlock if
// nothing is in flight, no timer is set and done is still open. The work that closes done must
// be in flight, or be started by a timer, when Wait is called. Wait has no limit in cluster
// time; a timer that closes done can set one.
//
// If ctx ends first, the error says what is in flight.
func (v *Virtual) Wait(ctx context.Context, done <-chan struct{}) error {
	if err := v.move(ctx, done, nil); err != nil {
		return fmt.Errorf("waiting on the virtual clock: %w", err)
	}
	return nil
}

// move steps until done is closed or the time is at own.
func (v *Virtual) move(ctx context.Context, done <-chan struct{}, own *stop) error {
	defer v.line.Attend(done)()
	for {
		finished, again, err := v.step(ctx, done, own)
		if finished || err != nil {
			return err
		}
		select {
		case <-again:
		case <-done:
		case <-ctx.Done():
		case <-v.closed:
		}
	}
}

// step jumps to the next timer or stop, if nothing is in flight. It returns over if done is
// closed or own is reached; otherwise a channel that is closed when step may be tried again.
func (v *Virtual) step(ctx context.Context, done <-chan struct{}, own *stop) (finished bool, again <-chan struct{}, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	select {
	case <-done:
		return true, nil, nil
	default:
	}
	if err := ctx.Err(); err != nil {
		return false, nil, fmt.Errorf("at %s (in flight: %s): %w", v.Now().Format(time.RFC3339Nano), v.ledger, err)
	}
	if !v.isOpen {
		return false, nil, ErrClosed
	}
	limit := int64(math.MaxInt64)
	for _, s := range v.stops {
		limit = min(limit, s.at)
	}
	if len(v.armed) > 0 && v.armed[0].due <= limit {
		_, again := v.fireLocked(v.armed[0].due)
		return false, again, nil
	}
	return v.stopLocked(own, limit)
}

// fireNext moves the time to the next timer, and returns when nothing is in flight but the work that
// waits for steps. It returns ErrNoTimer if no timer is set.
func (v *Virtual) fireNext(ctx context.Context) error {
	for {
		v.mu.Lock()
		again, fired := (<-chan struct{})(v.changed), false
		switch {
		case !v.isOpen:
			v.mu.Unlock()
			return ErrClosed
		case len(v.armed) == 0:
			v.mu.Unlock()
			return ErrNoTimer
		case len(v.stops) == 0: // else Advance is under way
			fired, again = v.fireLocked(v.armed[0].due)
		}
		v.mu.Unlock()
		if fired {
			return v.ledger.WaitPaused(ctx)
		}
		select {
		case <-again:
		case <-ctx.Done():
			return ctx.Err()
		case <-v.closed:
		}
	}
}

// stopLocked moves to the nearest stop, if no timer is due before it. Without a stop there is
// nothing to wait for.
func (v *Virtual) stopLocked(own *stop, limit int64) (finished bool, again <-chan struct{}, err error) {
	moved, idle := v.line.Rest(func() {
		if len(v.stops) > 0 {
			v.now.Store(limit)
		}
	})
	switch {
	case !moved:
		return false, idle, nil
	case len(v.stops) == 0:
		return false, nil, ErrDeadlock
	}
	return own != nil && own.at == limit, v.changed, nil
}

func (v *Virtual) removeStop(own *stop) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stops = slices.DeleteFunc(v.stops, func(s *stop) bool { return s == own })
	close(v.changed)
	v.changed = make(chan struct{})
}

// Close discards all timers, makes Sleep return at once and Advance and Wait return ErrClosed,
// and waits for a running timer function. No timer fires afterwards; Now still works. Close
// must not be called from a timer's function.
func (v *Virtual) Close() {
	v.mu.Lock()
	if v.isOpen {
		v.isOpen = false
		close(v.closed)
		for _, t := range v.armed {
			t.index = -1 // it can still be stopped
		}
		v.armed = nil
		for len(v.queue) > 0 {
			v.unqueueLocked(v.queue[0])
		}
	}
	v.mu.Unlock()
	v.routine.Wait()
}

// later adds a duration and saturates at the last representable time.
func later(now int64, d time.Duration) int64 {
	if sum := now + int64(d); sum >= now {
		return sum
	}
	return math.MaxInt64
}
