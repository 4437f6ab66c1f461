package timing

import (
	"context"
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
