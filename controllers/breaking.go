package controllers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/loop"
)

// errCrashed ends a run as a crash of the process would: the controller is restarted after
// the usual delay. errTakenDown ends a run until the function that TakeDown returned is
// called.
var (
	errCrashed   = errors.New("crashed by a fault")
	errTakenDown = errors.New("taken down by a fault")
)

// breaking is the part of a member's state that faults change. The member's mutex guards
// it.
type breaking struct {
	// run cancels the current run, and ended is closed when that run has returned. Both are
	// nil while the controller does not run.
	run   context.CancelCauseFunc
	ended chan struct{}
	// up has a value when it may run again after it was taken down; nil: it was not. downs counts the
	// downtimes that have not ended.
	up    chan *restart
	downs int
	// awake means that supervise receives from up before time passes. It does not while the
	// controller waits to be restarted after a failure.
	awake bool
	// skew is how far the clock of the next instance is ahead of the cluster's.
	skew time.Duration
	// crashing is set by Crash, and when the controller cannot be made again, until the wait for
	// the restart has begun.
	crashing inflight.Flag
}

// crashes begins an action in the ledger for the crash of the current run, if there is one.
// hasCrashed ends that action once the restart timer is set. Without it, virtual time could
// jump in between:
//
//	Crash      crashes: the ledger counts 1
//	Crash      cancels the run
//	supervise  the run returns; rest sets the restart timer for now+1s
//	supervise  hasCrashed: the ledger counts 0, time advances to the restart
//
// With the ledger at 0 before rest sets its timer, the clock could advance first, and the
// time of the restart would depend on which goroutine runs first.
func (c *member) crashes() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run != nil {
		c.crashing.Set(true)
	}
}

func (c *member) hasCrashed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.crashing.Set(false)
}

// runUntilBroken is runOnce with a context that Crash and TakeDown can cancel.
func (c *member) runUntilBroken(ctx context.Context) error {
	own, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan struct{})
	defer close(ended)
	c.mu.Lock()
	if c.up != nil {
		loops := c.loops
		c.mu.Unlock()
		for _, l := range loops.Loops() {
			l.Close() // their keys are in flight, and would not be taken
		}
		return errTakenDown
	}
	c.run, c.ended = cancel, ended
	c.mu.Unlock()
	err := c.runOnce(own)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run = nil
	if cause := context.Cause(own); cause != nil && ctx.Err() == nil {
		return cause
	}
	return err
}

// stayDown waits until the controller may run again, and returns the work that is in flight from
// then on; nil if ctx has ended.
func (c *member) stayDown(ctx context.Context) *restart {
	c.mu.Lock()
	up := c.up
	c.state, c.since = Failed, c.env.Clock.Now()
	c.restarts++
	c.lastError, c.lastTime = errTakenDown.Error(), c.since
	c.mu.Unlock()
	c.hasCrashed()
	for {
		select {
		case again := <-up:
			if c.mayLeave() {
				return again
			}
			again.work.End()
		case <-ctx.Done():
			return nil
		}
	}
}

// mayLeave ends the time that the controller is down, unless it was taken down again.
func (c *member) mayLeave() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.downs > 0 {
		return false
	}
	c.up = nil
	return true
}

func (c *member) isDown() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.up != nil
}

// bringUp ends a downtime that began with up. The end of the last one brings the controller up: the
// restart is in flight from here on, unless the controller waits to be restarted after a failure: it is made
// again after that delay anyway, and virtual time must be able to reach its end.
//
//	Crash      the run ends; rest sets the restart timer for now+1s
//	TakeDown   there is no run to end
//	bringUp    the ledger counts 0: the downtime is forgotten
//	supervise  the time advances to the restart
func (c *member) bringUp(up chan *restart) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.downs--
	switch {
	case c.downs > 0:
	case c.awake:
		up <- &restart{inflight.Begin(c.env.Ledger, inflight.Action)}
	default:
		c.up = nil
	}
}

// doze forgets a downtime that has ended and that supervise has not seen, because time may pass
// now.
func (c *member) doze() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.awake = false
	select {
	case again := <-c.up:
		c.up = nil
		again.work.End()
	default:
	}
}

func (c *member) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.awake = true
}

// end cancels the current run and waits for it to return.
func (c *member) end(cause error) {
	c.mu.Lock()
	run, ended := c.run, c.ended
	c.mu.Unlock()
	if run != nil {
		run(cause)
		<-ended
	}
}

func (m *Manager) member(name string) (*member, error) {
	for _, c := range m.members {
		if c.descriptor.Name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("breaking the controller %s: this manager does not run it", name)
}

// Crash ends a controller's run as a crash of its process would. The manager restarts it as
// after any failure. Crash returns when the run has ended.
func (m *Manager) Crash(name string) error {
	c, err := m.member(name)
	if err != nil {
		return err
	}
	c.crashes()
	c.end(errCrashed)
	return nil
}

// TakeDown ends a controller's run and keeps the controller down until up is called, which
// rebuilds it. A controller that was taken down several times is down until each up was called.
func (m *Manager) TakeDown(name string) (up func(), err error) {
	c, err := m.member(name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	if c.up == nil {
		c.up = make(chan *restart, 1)
	}
	select {
	case again := <-c.up: // the last downtime has ended, and supervise has not seen it
		again.work.End()
	default:
	}
	c.downs++
	ended := c.up
	c.mu.Unlock()
	c.end(errTakenDown)
	return sync.OnceFunc(func() { c.bringUp(ended) }), nil
}

// Idles reports whether a controller has no queue that could be broken: its flags or keys give
// it nothing to do, or it has not started yet. A controller that is down keeps its queues.
func (m *Manager) Idles(name string) bool {
	c, err := m.member(name)
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.loops.Loops()) == 0
}

// Pause stops a controller from taking keys off its queues until resume is called.
func (m *Manager) Pause(name string) (resume func(), err error) {
	return m.disturb(name, func(l loop.Loop) func() { return l.Pause() })
}

// Slow makes each reconcile of a controller take the duration by longer, until end is
// called.
func (m *Manager) Slow(name string, by time.Duration) (end func(), err error) {
	return m.disturb(name, func(l loop.Loop) func() { return l.Slow(by) })
}

// Lose hides a share of the events, chosen by random, from a controller until end is
// called.
func (m *Manager) Lose(name string, share float64, random *clock.Random) (end func(), err error) {
	return m.disturb(name, func(l loop.Loop) func() { return l.Lose(share, random) })
}

func (m *Manager) disturb(name string, do func(loop.Loop) func()) (end func(), err error) {
	c, err := m.member(name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	loops := c.loops.Loops()
	c.mu.Unlock()
	if len(loops) == 0 {
		return nil, fmt.Errorf("breaking the controller %s: it has no queue", name)
	}
	var ends []func()
	for _, l := range loops {
		ends = append(ends, do(l))
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}, nil
}
