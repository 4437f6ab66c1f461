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

	"minikcm.dev/minikcm/clock/inflight"
)

// ErrDeadlock is what Virtual.Wait returns when what it waits for cannot happen
// any more: nothing is in flight and no timer is set that could start anything.
var ErrDeadlock = errors.New("deadlock: nothing is in flight and no timer is set")

// ErrClosed is what waiting on a closed Virtual returns.
var ErrClosed = errors.New("the virtual clock is closed")

// Virtual is a clock that stands still until somebody waits on it, with Advance
// or Wait, and while anything is in flight according to its ledger. Then it jumps
// to the next timer. It guarantees:
//
//   - No jump happens while anything is in flight. The check and the jump are one
//     step: work that begins later begins at the new time.
//   - Timers fire in order of their due time; of equal due times, in the order in
//     which they were created or last Reset. None fires early: Now is the due time
//     exactly.
//   - Functions given to AfterFunc run one after the other, in that order. Each is
//     counted as Callback from the moment it is due until it has returned. The
//     next one of the same instant starts when all that the one before has set
//     going has ended or waits for its turn (inflight.Line); only a timer that is set for no time
//     at all (d <= 0) waits for none of them, as whoever set it may be waiting for it.
//   - A timer's or a ticker's value is counted as Tick from the moment it is due
//     until it is received, or given up with Stop or Reset. It stays there for as
//     long as that takes, and time with it: a ticker drops no tick, and a channel
//     that is left behind unread (After in a select that went another way) holds
//     time for ever. Use NewTimer and Stop it, or AfterFunc. What a receiver does
//     after it has received is not known to the clock, unless work of the ledger covers it.
//   - A timer with d <= 0 fires at once, without anybody waiting.
//
// A function given to AfterFunc may create, stop and reset timers. It must not
// wait for time to pass, nor for another timer's function.
//
// Virtual's zero value is not usable. All methods are safe for concurrent use.
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

// stop is where an Advance ends: no jump leads past it before it returned.
type stop struct{ at int64 }

// NewVirtual returns a clock that stands at start. Its timers are counted in
// ledger, and it does not move while anything is in flight there; with a nil
// ledger it knows of its own timers only. Close it when it is no longer needed.
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

// Since returns the cluster's time that went by since t.
func (v *Virtual) Since(t time.Time) time.Duration { return v.Now().Sub(t) }

func (v *Virtual) at(offset int64) time.Time {
	return v.start.Add(time.Duration(offset + v.jumped.Load()))
}

// Jump sets the time forward, or back, as somebody does who sets a machine's clock:
// timers that are set fire after as long as they would have.
func (v *Virtual) Jump(d time.Duration) { v.jumped.Add(int64(d)) }

// Advance moves time by d. It fires every timer due on the way, each at its time,
// waits after each instant until nothing is in flight, and returns when the time
// is exactly d later than it was at the call and all has come to rest. If others
// wait on the clock too, time does not move beyond that point before Advance
// returned.
//
// When ctx ends first, the time stays where it got to, and the error says what is
// in flight.
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

// Wait moves time from timer to timer until done is closed. It returns
// ErrDeadlock when nothing is in flight, no timer is set and done is still open.
// What closes done should be in flight, or set going by a timer, when Wait is
// called. Wait sets no bound in cluster time: a timer that closes done does.
//
// When ctx ends first, the error says what is in flight.
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

// step jumps to the next instant at which there is something to do, if nothing is
// in flight. It is over when done is closed or own is reached; otherwise it
// returns the channel that says when to try again.
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
		return false, v.fireLocked(v.armed[0].due), nil
	}
	return v.stopLocked(own, limit)
}

// stopLocked moves to the nearest stop, as no timer is set that is due before. Without
// any stop there is nothing to wait for.
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

// Close gives up all timers, ends what waits on the clock, Sleep without waiting
// any longer and Advance and Wait with ErrClosed, and returns when a function
// that runs has returned. No timer fires afterwards. Now keeps working. It must
// not be called from a timer's function.
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

// later adds without running over: the end of time is as good as any.
func later(now int64, d time.Duration) int64 {
	if sum := now + int64(d); sum >= now {
		return sum
	}
	return math.MaxInt64
}
