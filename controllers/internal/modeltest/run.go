package modeltest

import (
	"fmt"
	"slices"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// Draw picks a number in [0, n), from a property test or from a seeded source.
type Draw func(n int, label string) int

// Run is a world with its actors and with others that act without a reconciler.
type Run struct {
	World  *World
	Clock  *clocktesting.FakePassiveClock
	actors []*Actor
	// others each take one step and report whether there was one to take.
	others []func(draw Draw) bool
	draw   Draw
	// Crashes makes actors crash between two writes now and then.
	Crashes bool
	nested  bool
	err     error
}

// NewRun returns a run over an empty world at a fixed time.
func NewRun(draw Draw) *Run {
	c := clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0))
	return &Run{World: NewWorld(c), Clock: c, draw: draw}
}

// Actor adds a reconciler.
func (r *Run) Actor(name string, setup Setup) error {
	a := &Actor{Name: name, world: r.World, setup: setup}
	a.between = func() { r.interfere(a) }
	r.actors = append(r.actors, a)
	return a.start()
}

// Other adds an actor without caches, such as a kubelet or a user. act takes one step and
// reports whether there was one to take.
func (r *Run) Other(act func(draw Draw) bool) { r.others = append(r.others, act) }

// interfere takes steps of others between two writes of an actor.
func (r *Run) interfere(a *Actor) {
	if r.nested || r.err != nil {
		return
	}
	r.nested = true
	defer func() { r.nested = false }()
	for range r.draw(3, "steps between "+a.Name+"'s writes") {
		r.Step()
	}
}

// Steps takes n steps. If the run fails, it ends there and returns Err.
func (r *Run) Steps(n int) error {
	for range n {
		if r.Step(); r.err != nil {
			return r.err
		}
	}
	return nil
}

// Step draws one of the possible steps and takes it. It reports whether there was one
// besides letting time pass.
func (r *Run) Step() bool {
	var possible []func() bool
	for _, a := range r.actors {
		for _, v := range a.behind() {
			possible = append(possible, func() bool { a.deliver(v); return true })
		}
		if !a.busy && len(a.queue) > 0 {
			possible = append(possible, func() bool { r.reconcile(a); return true })
		}
	}
	for _, act := range r.others {
		possible = append(possible, func() bool { return act(r.draw) })
	}
	possible = append(possible, r.pass)
	return possible[r.draw(len(possible), "step")]()
}

func (r *Run) reconcile(a *Actor) {
	if r.Crashes && r.draw(16, "crash") == 0 {
		a.writes = r.draw(4, "writes before the crash")
	}
	r.fail(a.reconcile(r.draw(len(a.queue), "key"), r.Clock.Now()))
}

func (r *Run) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// pass advances the clock by a second.
func (r *Run) pass() bool {
	r.Clock.SetTime(r.Clock.Now().Add(time.Second))
	for _, a := range r.actors {
		a.ring(r.Clock.Now())
	}
	return false
}

// Settle delivers, reconciles and calls quiet until nothing is left to do; then it advances
// the clock to the next timer within horizon, and repeats. It takes at most limit steps and
// returns an error if the world has not settled by then.
func (r *Run) Settle(limit int, horizon time.Duration, quiet ...func() bool) error {
	end := r.Clock.Now().Add(horizon)
	for range limit {
		if r.err != nil {
			return r.err
		}
		if r.settleOnce() || slices.ContainsFunc(quiet, func(act func() bool) bool { return act() }) {
			continue
		}
		next, ok := r.nextTimer()
		if !ok || next.After(end) {
			return r.err
		}
		r.Clock.SetTime(next)
		for _, a := range r.actors {
			a.ring(next)
		}
	}
	return fmt.Errorf("not settled after %d steps: %s", limit, r.describe())
}

func (r *Run) settleOnce() bool {
	for _, a := range r.actors {
		if behind := a.behind(); len(behind) > 0 {
			a.deliver(behind[0])
			return true
		}
	}
	for _, a := range r.actors {
		if len(a.queue) > 0 {
			r.nested = true // no other steps between its writes
			r.fail(a.reconcile(0, r.Clock.Now()))
			r.nested = false
			return true
		}
	}
	return false
}

func (r *Run) nextTimer() (time.Time, bool) {
	var next time.Time
	for _, a := range r.actors {
		for _, due := range a.timers {
			if next.IsZero() || due.Before(next) {
				next = due
			}
		}
	}
	return next, !next.IsZero()
}

// Err returns the error that ended the run itself.
func (r *Run) Err() error { return r.err }

func (r *Run) describe() string {
	text := ""
	for _, a := range r.actors {
		text += fmt.Sprintf("%s: %d behind, queue %v, failing %v; ", a.Name, len(a.behind()), a.queue, a.failing)
	}
	return text
}
