package manager

import (
	"context"
	"errors"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/inflight"
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
		if err := c.makeAgain(ctx, &restart{inflight.Begin(m.env.Ledger, inflight.Action)}); err != nil {
			return nil, err
		}
		own, cancel := context.WithCancelCause(ctx)
		ended := make(chan struct{})
		running.Go(func() {
			defer close(ended)
			c.supervise(own)
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
// restarted at once to take the new clock.
func (m *Manager) Skew(name string, by time.Duration) error {
	c, err := m.member(name)
	if err != nil {
		return err
	}
	up, err := m.TakeDown(name)
	if err != nil {
		return err
	}
	c.mu.Lock()
	skewed := *c.env
	skewed.Clock = m.env.Clock
	if by != 0 {
		skewed.Clock = clock.Skew(m.env.Clock, by)
	}
	c.env = &skewed
	c.mu.Unlock()
	up()
	return nil
}
