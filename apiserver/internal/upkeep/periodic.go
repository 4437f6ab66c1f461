package upkeep

import (
	"context"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
)

// Periodic calls do repeatedly, each time an interval of cluster time after the
// previous call ended.
type Periodic struct {
	clock    clock.Clock
	interval time.Duration
	do       func()
	cancel   context.CancelFunc // ends what do waits for

	mu      sync.Mutex
	timer   interface{ Stop() bool }
	stopped bool
	running sync.WaitGroup
}

// Start begins to call do, first after the interval.
func Start(c clock.Clock, interval time.Duration, do func(ctx context.Context)) *Periodic {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Periodic{clock: c, interval: interval, do: func() { do(ctx) }, cancel: cancel}
	p.schedule()
	return p
}

func (p *Periodic) schedule() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopped {
		p.timer = p.clock.AfterFunc(p.interval, p.run)
	}
}

func (p *Periodic) run() {
	p.mu.Lock()
	if p.stopped {
		p.mu.Unlock()
		return
	}
	p.running.Add(1)
	p.mu.Unlock()
	defer p.running.Done()
	p.do()
	p.schedule()
}

// Stop ends the repetition and waits for a running do. A nil Periodic is valid.
func (p *Periodic) Stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.stopped = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	p.cancel()
	p.running.Wait()
}
