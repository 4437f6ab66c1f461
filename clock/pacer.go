package clock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// pacerTick is the machine's time between two moves of a paced clock.
	pacerTick = 10 * time.Millisecond
	// pacerLag is the most of the machine's time that one move makes up for. A cluster whose
	// work takes longer than its time at the wanted speed runs slower instead of falling behind.
	pacerLag = 5 * pacerTick
	// MaxSpeed is the highest speed of a Pacer.
	MaxSpeed = 1e6
)

// Pacer moves a virtual clock as the machine's time passes: Speed times as fast, or not at all
// while it is paused. Callers can also move the clock by a duration or to its next timer,
// whether it is paused or not. It gives the guarantees of Virtual: no time passes while
// anything is in flight, and each timer fires at its due time, at every speed.
//
// All methods are safe for concurrent use.
type Pacer struct {
	virtual *Virtual

	mu     sync.Mutex
	speed  float64
	paused bool
	work   bool // is paused, too
	moving int  // calls of Advance and Step
	// advancing counts the calls of Advance, which do all work that is due.
	advancing int
	// stages is closed when the pause of stages ends; nil: there is none.
	stages  chan struct{}
	changed chan struct{} // closed and replaced when one of the above changes

	// striding is held while Run moves the clock by itself.
	striding sync.Mutex
}

// Pace is the state of a Pacer.
type Pace struct {
	// Speed is the speed of the clock, as a multiple of the machine's time. It also holds
	// while Paused is true, for the next Resume.
	Speed  float64
	Paused bool
	// Work reports that the cluster's work is paused, too: see PauseWork.
	Work bool
	// Moving reports that Advance or Step is moving the clock, whatever its speed.
	Moving bool
}

// NewPacer returns a Pacer that Run will move. The speed has to be valid: see ValidateSpeed.
func NewPacer(v *Virtual, speed float64) *Pacer {
	return &Pacer{virtual: v, speed: speed, changed: make(chan struct{})}
}

// ValidateSpeed returns an error unless a clock can run at a speed: a number above 0, and at
// most MaxSpeed.
func ValidateSpeed(speed float64) error {
	if !(speed > 0) || speed > MaxSpeed {
		return fmt.Errorf("a clock cannot run %v times as fast as the machine's: the speed must be above 0 and at most %d", speed, int(MaxSpeed))
	}
	return nil
}

// Pace returns the state of the Pacer, and a channel that is closed when it changes.
func (p *Pacer) Pace() (pace Pace, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stages := p.stages != nil
	return Pace{Speed: p.speed, Paused: p.paused || stages, Work: p.work || stages, Moving: p.moving > 0}, p.changed
}

// Pause makes time stand still, except during Advance and Step. It ends a pause of the work.
func (p *Pacer) Pause() { p.pause(true, false) }

// PauseWork is Pause for the cluster's work, too: the work that a write causes, such as the reconcile of a key,
// waits until Step takes it. Requests are served, and their events reach the caches.
func (p *Pacer) PauseWork() { p.pause(true, true) }

// Resume ends a Pause or PauseWork.
func (p *Pacer) Resume() { p.pause(false, false) }

func (p *Pacer) pause(time, work bool) {
	p.change(func() {
		p.paused, p.work = time, work
		p.endStagesLocked()
	})
}

// PauseStages is PauseWork for the stages within a piece of work, too (inflight.Ledger.PauseStages). It ends, and the Pacer runs
// or is paused as before, when release is called. A Pause, PauseWork or Resume ends it, too. ended is closed then. It returns
// ErrStagesPaused if a caller holds the stages already.
func (p *Pacer) PauseStages() (ended <-chan struct{}, release func(), err error) {
	own := make(chan struct{})
	p.change(func() {
		if p.stages != nil {
			err = ErrStagesPaused
			return
		}
		p.stages = own
		p.holdLocked()
	})
	if err != nil {
		return nil, nil, err
	}
	return own, func() {
		p.change(func() {
			if p.stages == own {
				p.endStagesLocked()
			}
		})
	}, nil
}

// ErrStagesPaused is returned by Pacer.PauseStages while stages are held.
var ErrStagesPaused = errors.New("the stages of the work are held already")

func (p *Pacer) endStagesLocked() {
	if p.stages != nil {
		close(p.stages)
		p.stages = nil
	}
	p.holdLocked()
}

// holdLocked makes the work wait if it is paused and no Advance is moving the clock.
func (p *Pacer) holdLocked() {
	switch {
	case p.advancing > 0 || !p.work && p.stages == nil:
		p.virtual.ledger.ResumeWork()
	case p.stages != nil:
		p.virtual.ledger.PauseStages()
	default:
		p.virtual.ledger.ResumeWork() // of stages
		p.virtual.ledger.PauseWork()
	}
}

// SetSpeed changes the speed. A paused clock stays paused. The error is ValidateSpeed's.
func (p *Pacer) SetSpeed(speed float64) error {
	if err := ValidateSpeed(speed); err != nil {
		return err
	}
	p.change(func() { p.speed = speed })
	return nil
}

func (p *Pacer) change(set func()) {
	p.mu.Lock()
	set()
	close(p.changed)
	p.changed = make(chan struct{})
	p.mu.Unlock()
	p.awaitStride()
}

// awaitStride returns when the move that follow began before the last change has been cut short.
func (p *Pacer) awaitStride() {
	p.striding.Lock()
	defer p.striding.Unlock()
}

// Advance moves the clock by d, as fast as the cluster's work allows: see Virtual.Advance.
func (p *Pacer) Advance(ctx context.Context, d time.Duration) error {
	defer p.move()()
	p.advance(1)
	defer p.advance(-1)
	return p.virtual.Advance(ctx, d)
}

func (p *Pacer) advance(calls int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advancing += calls
	p.holdLocked()
}

// Step moves the clock to its next timer, and returns when nothing is in flight. It returns
// ErrNoTimer if no timer is set. While the work is paused, it does the piece of work that waits
// longest instead, and moves the clock only if none waits; the work that follows from the step waits.
func (p *Pacer) Step(ctx context.Context) error {
	defer p.move()()
	if pace, _ := p.Pace(); pace.Work {
		if taken, err := p.virtual.ledger.Step(ctx); taken != nil || err != nil {
			return err
		}
		return p.virtual.fireNext(ctx)
	}
	if err := p.virtual.Advance(ctx, 0); err != nil { // what is in flight may set a timer
		return err
	}
	due, ok := p.virtual.NextTimer()
	if !ok {
		return ErrNoTimer
	}
	return p.virtual.Advance(ctx, max(due.Sub(p.virtual.Now()), 0))
}

// ErrNoTimer is returned by Pacer.Step if no timer is set.
var ErrNoTimer = errors.New("no timer is set")

// move suspends Run's own moves until done is called.
func (p *Pacer) move() (done func()) {
	p.change(func() { p.moving++ })
	return func() { p.change(func() { p.moving-- }) }
}

// Run moves the clock until ctx ends or the clock is closed.
func (p *Pacer) Run(ctx context.Context) {
	ticker := time.NewTicker(pacerTick)
	defer ticker.Stop()
	for {
		pace, changed := p.Pace()
		var err error
		if pace.Paused || pace.Moving {
			select {
			case <-changed:
			case <-ctx.Done():
			}
		} else {
			err = p.follow(ctx, ticker.C, pace.Speed, changed)
		}
		if ctx.Err() != nil || errors.Is(err, ErrClosed) {
			return
		}
	}
}

// follow moves the clock at a speed until the Pacer changes. A move that has begun is then cut
// short, and leaves the clock where it is.
func (p *Pacer) follow(ctx context.Context, ticks <-chan time.Time, speed float64, changed <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	watching.Go(func() {
		select {
		case <-changed:
			cancel()
		case <-ctx.Done():
		}
	})
	last := time.Now()
	for {
		select {
		case <-ticks:
		case <-ctx.Done():
			return ctx.Err()
		}
		now := time.Now()
		passed := min(now.Sub(last), pacerLag)
		last = now
		if err := p.stride(ctx, time.Duration(float64(passed)*speed), changed); err != nil {
			return err
		}
	}
}

// stride moves the clock by d, unless the Pacer has changed.
func (p *Pacer) stride(ctx context.Context, d time.Duration, changed <-chan struct{}) error {
	p.striding.Lock()
	defer p.striding.Unlock()
	select {
	case <-changed:
		return context.Canceled
	default:
		return p.virtual.Advance(ctx, d)
	}
}
