package minikcm

import (
	"context"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/assembly/timing"
)

// Clock returns the cluster's clock.
func (c *Cluster) Clock() clock.Clock { return c.timing.Clock }

// Ledger returns the in-flight ledger.
func (c *Cluster) Ledger() *clock.Ledger { return c.timing.Ledger }

// Random returns a new source of random numbers, for a program that runs beside the
// cluster. Its numbers depend on the seed and on the number of sources taken before.
func (c *Cluster) Random() *clock.Random { return c.timing.Random.Fork() }

// Pacer returns the pacer that moves the cluster's virtual clock; nil if the clock is not
// virtual, or if only Advance, Wait and Until move it.
func (c *Cluster) Pacer() *clock.Pacer { return c.timing.Pacer() }

// Advance lets d of the cluster's time pass. On a virtual clock it returns when all work
// that was due by then is done; on other clocks it waits for d.
func (c *Cluster) Advance(ctx context.Context, d time.Duration) error {
	return c.timing.Advance(ctx, d)
}

// Wait returns when done is closed. Until then, virtual time jumps to the next timer
// whenever nothing is in flight.
func (c *Cluster) Wait(ctx context.Context, done <-chan struct{}) error {
	return c.timing.Wait(ctx, done)
}

// Until calls look immediately and then after every write to the cluster, until look
// returns true or an error. Virtual time runs meanwhile, but not between a write and the
// following call: look sees a state at the time at which it occurs. arm, if not nil, gets
// a function that causes one more call, for example from a timer.
func (c *Cluster) Until(ctx context.Context, look func(ctx context.Context) (done bool, err error), arm func(raise func())) error {
	observe := func(written func()) func() { return c.Writes().Observe(func(*Write) { written() }) }
	return c.timing.Until(ctx, timing.Looks{Look: look, Observe: observe, Arm: arm})
}

// Timer is a time for which a part of the cluster waits, to look at something again.
type Timer struct {
	// Part is the name of a controller, or TimerOfPod for a kubelet's timer of a pod.
	Part string
	// Key is the controller's key, as NAMESPACE/NAME, or the UID of the pod.
	Key string
	Due time.Time
}

// TimerOfPod is the Part of the timers that kubelets have of their pods.
const TimerOfPod = "kubelet"

// Timers returns the times for which the named controllers and the simulated kubelets wait, in no order.
// It leaves out heartbeats, and timers that repeat whatever happens. A time at which nothing is found to
// do is a Timer, too.
func (c *Cluster) Timers(controllers []string) []Timer {
	var all []Timer
	if m := c.Manager(); m != nil {
		for _, name := range controllers {
			loops, _ := m.Loops(name)
			for _, l := range loops {
				for key, due := range l.Delays() {
					all = append(all, Timer{name, key.String(), due})
				}
			}
		}
	}
	for uid, due := range c.Kubelets().Timers() {
		all = append(all, Timer{TimerOfPod, string(uid), due})
	}
	return all
}
