package controllers

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/loop"
)

// firstRestart is the delay before a failed controller is rebuilt. It doubles with each
// failure up to lastRestart, and is reset when a run has lasted for lastRestart.
const (
	firstRestart = time.Second
	lastRestart  = 5 * time.Minute
)

// errEnded is the failure of a controller whose Run returned nil before its context ended.
var errEnded = errors.New("it stopped unexpectedly")

// member is a selected controller: its current instance and its state.
type member struct {
	descriptor Descriptor
	env        *env.Env
	settings   *Settings

	mu        sync.Mutex
	state     State
	current   *controller.Parts
	loops     *loop.Registry
	since     time.Time
	restarts  int
	lastError string
	lastTime  time.Time
	breaking
}

func newMember(d Descriptor, e *env.Env, s *Settings) *member {
	own := *e
	if d.Concurrency.Flag != "" {
		own.Workers = map[string]int{d.Name: int(*d.Concurrency.In(s))}
	}
	if d.Account != "" && !d.OwnCredentials {
		own.AccountOf = map[string]string{d.Name: d.Account}
	}
	c := &member{descriptor: d, env: &own, settings: s, state: Waiting}
	c.crashing = inflight.NewFlag(e.Ledger, inflight.Action)
	return c
}

// make builds the controller and replaces the previous instance.
func (c *member) make() (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("making the controller %s: %w", c.descriptor.Name, &loop.PanicError{Value: value, Stack: debug.Stack()})
		}
	}()
	own, loops := *c.env, &loop.Registry{}
	own.Loops = loops
	own.Clock = c.ownClock()
	made, err := c.descriptor.New(&own, c.settings)
	if err != nil {
		return fmt.Errorf("making the controller %s: %w", c.descriptor.Name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current, c.loops = made, loops
	return nil
}

// isIdle reports whether the controller has no loop that could begin: it has nothing to do.
func (c *member) isIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.loops.Loops()) == 0
}

func (c *member) isBuilt() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current != nil
}

// supervise runs the controller until ctx ends, and rebuilds it when it fails. starting is in flight
// until the controller has begun.
func (c *member) supervise(ctx context.Context, starting *inflight.Work) {
	defer c.leave()
	c.wake()
	wait := firstRestart
	for {
		began := c.env.Clock.Now()
		if c.isIdle() {
			starting.End()
		}
		err := c.runUntilBroken(loop.WithBegun(ctx, starting.End))
		starting.End()
		if c.env.Clock.Since(began) >= lastRestart && !errors.Is(err, errTakenDown) {
			wait = firstRestart
		}
		for err != nil {
			if ctx.Err() != nil {
				return
			}
			var again *restart
			if errors.Is(err, errTakenDown) {
				again = c.stayDown(ctx)
			} else {
				c.failed(err, wait)
				again = c.rest(ctx, wait)
				wait = min(2*wait, lastRestart)
			}
			if again == nil {
				return
			}
			if err = c.makeAgain(again); err == nil {
				starting = again.work
			}
		}
	}
}

// leave ends the work that the member counts, when the member is no longer supervised.
func (c *member) leave() {
	c.hasCrashed()
	c.doze()
	c.set(Stopped)
}

func (c *member) runOnce(ctx context.Context) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &loop.PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	c.mu.Lock()
	current := c.current
	c.mu.Unlock()
	c.set(Running)
	if err := current.Run(ctx); err != nil {
		return err
	}
	return errEnded
}

func (c *member) failed(err error, wait time.Duration) {
	logger := klog.LoggerWithValues(c.env.Logger, "controller", c.descriptor.Name)
	var panicked *loop.PanicError
	if errors.As(err, &panicked) {
		logger = klog.LoggerWithValues(logger, "stack", string(panicked.Stack))
	}
	logger.Error(err, "A controller failed and will be restarted", "after", wait)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state, c.since = Failed, c.env.Clock.Now()
	c.restarts++
	c.lastError, c.lastTime = err.Error(), c.since
}

// rest waits for the delay before a restart, and returns the work that is in flight from then on; nil if ctx has ended.
func (c *member) rest(ctx context.Context, d time.Duration) *restart {
	work := inflight.Begin(c.env.Ledger, inflight.Action)
	c.hasCrashed()
	c.doze()
	defer c.wake()
	if inflight.Sleep(inflight.With(inflight.Alone(ctx), work), c.env.Clock, d) != nil {
		work.End()
		return nil
	}
	return &restart{work}
}

// restart counts a controller that is to be made again.
type restart struct{ work *inflight.Work }

// makeAgain rebuilds the controller after rest or stayDown. Without an error, the work that they
// returned is in flight until the new instance has begun.
func (c *member) makeAgain(r *restart) error {
	err := errTakenDown // by a fault, during the delay
	if !c.isDown() {
		err = c.make()
	}
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.crashing.Set(true) // until stayDown, or until rest has set the timer of the next attempt
		r.work.End()
		return err
	}
	// The new instance may have requested informers that do not run yet.
	c.env.StartInformers()
	return nil
}

func (c *member) set(s State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state, c.since = s, c.env.Clock.Now()
}
