package timing

import (
	"context"
	"time"

	"minikcm.dev/minikcm/clock"
)

// Options select the clock.
type Options struct {
	Mode   clock.Mode // empty means real
	Speed  float64    // of a scaled clock, or of a virtual clock that runs by itself
	Start  time.Time  // of a virtual clock
	Driven bool       // a virtual cluster works only while a caller waits for it
	Seed   uint64
}

// IsPaced reports whether the clock is virtual and runs by itself.
func (o Options) IsPaced() bool { return o.Mode == clock.ModeVirtual && o.Speed != 0 }

// Timing is the time and the chance of a cluster.
type Timing struct {
	Clock  clock.Clock
	Ledger *clock.Ledger
	Random *clock.Random
	// Virtual is the clock if it is virtual; nil otherwise.
	Virtual *clock.Virtual
	pace    pace
}

// New returns the time of a cluster. Real time does not need the ledger. A clock that is paced stands
// still until StartPace.
func New(o Options) *Timing {
	t := &Timing{Ledger: clock.NewLedger(), Random: clock.NewRandom(o.Seed)}
	switch o.Mode {
	case clock.ModeVirtual:
		if !o.IsPaced() { // then its clients determine the order of events
			t.Ledger.TakeTurns(o.Seed, o.Driven)
		}
		t.Virtual = clock.NewVirtual(o.Start, t.Ledger)
		t.Clock = t.Virtual
		if o.IsPaced() {
			t.pace.pacer = clock.NewPacer(t.Virtual, o.Speed)
		}
		t.Ledger.RetryOn(t.Clock, t.Random)
	case clock.ModeScaled:
		t.Clock = clock.Scaled(o.Speed)
		t.Ledger.RetryOn(t.Clock, t.Random)
	default:
		t.Clock = clock.Real()
	}
	return t
}

// Pacer returns the pacer of a clock that is paced; nil for others.
func (t *Timing) Pacer() *clock.Pacer { return t.pace.pacer }

// StartPace lets a clock that is paced run.
func (t *Timing) StartPace() { t.pace.start() }

// StopPace returns when a clock that is paced does not run any more.
func (t *Timing) StopPace() { t.pace.stop() }

// Close ends the waits for a virtual clock.
func (t *Timing) Close() {
	if t.Virtual != nil {
		t.Virtual.Close()
	}
}

// Advance lets d of the cluster's time pass. On a virtual clock it returns when all work
// that was due by then is done; on other clocks it waits for d.
func (t *Timing) Advance(ctx context.Context, d time.Duration) error {
	if t.Virtual != nil {
		return t.Virtual.Advance(ctx, d)
	}
	timer := t.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Wait returns when done is closed. Until then, virtual time jumps to the next timer
// whenever nothing is in flight.
func (t *Timing) Wait(ctx context.Context, done <-chan struct{}) error {
	if t.Virtual != nil {
		return t.Virtual.Wait(ctx, done)
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
