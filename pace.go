package minikcm

import (
	"context"
	"errors"
	"sync"

	"minikcm.dev/minikcm/clock"
)

// pace is the goroutine that moves a virtual clock at a speed; its zero value has none.
type pace struct {
	pacer *clock.Pacer

	mu      sync.Mutex
	stopped bool
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// start begins to move the clock, unless there is none or stop was called before.
func (p *pace) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pacer == nil || p.stopped {
		return
	}
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(context.Background())
	p.running.Go(func() { p.pacer.Run(ctx) })
}

// stop returns when the clock is not moved any more. It may be called more than once.
func (p *pace) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	if p.cancel != nil {
		p.cancel()
	}
	p.running.Wait()
}

// isPaced reports whether the cluster has a virtual clock that runs by itself.
func (o *Options) isPaced() bool { return o.Clock.Mode == clock.ModeVirtual && o.Clock.Speed != 0 }

// validatePace returns an error for a speed at which a virtual clock cannot run.
func (o *Options) validatePace() error {
	if !o.isPaced() {
		return nil
	}
	if len(o.Sharing.Etcd.Endpoints) > 0 {
		return errors.New("a virtual clock that runs by itself and an external etcd were both given: processes that share an etcd have no clock in common, so choose a real or scaled one")
	}
	if o.Clock.Driven {
		return errors.New("a virtual clock cannot both run by itself and be driven: choose one")
	}
	return clock.ValidateSpeed(o.Clock.Speed)
}

// Pacer returns the pacer that moves the cluster's virtual clock; nil if the clock is not
// virtual, or if only Advance, Wait and Until move it.
func (c *Cluster) Pacer() *clock.Pacer { return c.pace.pacer }
