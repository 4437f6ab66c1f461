package controllers

import (
	"context"
	"errors"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// errOver ends the run of a duplicate.
var errOver = errors.New("the duplicate is no longer wanted")

// Duplicate runs a second instance of a controller beside the first, as when two processes
// both consider themselves the leader. stop ends the second instance and returns when it
// has ended.
func (m *Manager) Duplicate(name string) (stop func(), err error) {
	c, err := m.member(name)
	if err != nil {
		return nil, err
	}
	m.launching.Lock()
	launch := m.launch
	m.launching.Unlock()
	if launch == nil {
		return nil, errors.New("duplicating the controller " + name + ": the manager does not run")
	}
	return launch(newMember(c.descriptor, m.env, m.opts.Settings))
}

// launcher allows further members to be started while ctx lives.
func (m *Manager) launcher(ctx context.Context, running *sync.WaitGroup) {
	m.launching.Lock()
	defer m.launching.Unlock()
	m.launch = func(c *member) (func(), error) {
		starting := inflight.Begin(m.env.Ledger, inflight.Action)
		if err := c.makeAgain(&restart{starting}); err != nil {
			c.hasCrashed() // it is not supervised
			return nil, err
		}
		own, cancel := context.WithCancelCause(ctx)
		ended := make(chan struct{})
		running.Go(func() {
			defer close(ended)
			c.supervise(own, starting)
		})
		return func() {
			cancel(errOver)
			<-ended
		}, nil
	}
}

// noLauncher stops further members from being started.
func (m *Manager) noLauncher() {
	m.launching.Lock()
	defer m.launching.Unlock()
	m.launch = nil
}

// Skew offsets a controller's clock by the duration by (0: not at all). The controller is
// restarted at once to take the new clock. One that is down, or waits to be restarted after a failure, takes
// it when it is made again.
func (m *Manager) Skew(name string, by time.Duration) error {
	c, err := m.member(name)
	if err != nil {
		return err
	}
	if c.setSkew(by) {
		return nil
	}
	up, err := m.TakeDown(name)
	if err != nil {
		return err
	}
	up()
	return nil
}

// setSkew sets the clock of the next instance, and reports whether the controller is down.
func (c *member) setSkew(by time.Duration) (down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skew = by
	return c.up != nil
}

// ownClock returns the clock of the next instance.
func (c *member) ownClock() clock.Clock {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.skew == 0 {
		return c.env.Clock
	}
	return clock.Skew(c.env.Clock, c.skew)
}
