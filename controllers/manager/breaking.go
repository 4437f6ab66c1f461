package manager

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/inflight"
	"minikcm.dev/minikcm/controllers/loop"
)

// errCrashed ends a run as a process's crash would, errTakenDown for as long as
// somebody wants it.
var (
	errCrashed   = errors.New("it crashed, as a fault wanted it")
	errTakenDown = errors.New("it is down, as a fault wants it")
)

// breaking is what a member needs to be broken from outside. The member's mutex guards
// it.
type breaking struct {
	// run ends the present run, and ended is closed when it has ended; nil while it does
	// not run.
	run   context.CancelCauseFunc
	ended chan struct{}
	// up has a value when it may run again after it was taken down; nil: it was not.
	up chan *restart
	// crashing is set by Crash, until the wait for the restart has begun.
	crashing inflight.Flag
}

// crashes counts the crash of the present run, if there is one.
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

// runUntilBroken is runOnce that somebody can end.
func (c *member) runUntilBroken(ctx context.Context) error {
	own, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan struct{})
	defer close(ended)
	c.mu.Lock()
	if c.up != nil {
		c.mu.Unlock()
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

// stayDown waits until it may run again, and makes it anew; false: ctx has ended.
func (c *member) stayDown(ctx context.Context) bool {
	c.mu.Lock()
	up := c.up
	c.state, c.since = Failed, c.env.Clock.Now()
	c.restarts++
	c.lastError, c.lastTime = errTakenDown.Error(), c.since
	c.mu.Unlock()
	c.hasCrashed()
	var again *restart
	select {
	case again = <-up:
	case <-ctx.Done():
		return false
	}
	c.mu.Lock()
	c.up = nil
	c.mu.Unlock()
	if err := c.makeAgain(ctx, again); err != nil {
		c.env.Logger.Error(err, "A controller that was taken down could not be made again", "controller", c.descriptor.Name)
		again = c.rest(ctx, firstRestart)
		return again != nil && c.makeAgain(ctx, again) == nil
	}
	return true
}

// end ends the present run and returns when it has ended.
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
	return nil, fmt.Errorf("breaking the controller %s: it does not run here", name)
}

// Crash ends a controller as if its process had crashed. It is made again as after any
// failure. Crash returns when what ran has ended.
func (m *Manager) Crash(name string) error {
	c, err := m.member(name)
	if err != nil {
		return err
	}
	c.crashes()
	c.end(errCrashed)
	return nil
}

// TakeDown ends a controller until up is called, which makes it anew. It is an error if
// it is down already.
func (m *Manager) TakeDown(name string) (up func(), err error) {
	c, err := m.member(name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	if c.up != nil {
		c.mu.Unlock()
		return nil, fmt.Errorf("breaking the controller %s: it is down already", name)
	}
	again := make(chan *restart, 1)
	c.up = again
	c.mu.Unlock()
	c.end(errTakenDown)
	return sync.OnceFunc(func() {
		again <- &restart{inflight.Begin(c.env.Ledger, inflight.Action)}
	}), nil
}

// Pause lets a controller work on nothing until resume is called.
func (m *Manager) Pause(name string) (resume func(), err error) {
	return m.disturb(name, func(l *loop.Loop) func() { return l.Pause() })
}

// Slow makes each reconcile of a controller take longer by by until end is called.
func (m *Manager) Slow(name string, by time.Duration) (end func(), err error) {
	return m.disturb(name, func(l *loop.Loop) func() { return l.Slow(by) })
}

// Lose lets a controller not see a share of the events, chosen by random, until end is
// called.
func (m *Manager) Lose(name string, share float64, random *clock.Random) (end func(), err error) {
	return m.disturb(name, func(l *loop.Loop) func() { return l.Lose(share, random) })
}

func (m *Manager) disturb(name string, do func(*loop.Loop) func()) (end func(), err error) {
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
