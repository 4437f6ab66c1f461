package parts

import (
	"context"
	"fmt"
	"sync"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/fence"
	"minikcm.dev/minikcm/internal/inflight"
)

// buildScheduler builds the scheduler, unless there is none or processes divide the work.
func (p *Parts) buildScheduler(ctx context.Context) (err error) {
	if p.opts.Scheduler == nil || p.opts.Shares {
		return nil
	}
	own := p.envOf(p.env, "system:kube-scheduler")
	own.Recorder = p.env.Recorder.OwnedBy("kube-scheduler")
	s := &schedulerPart{ledger: p.opts.Timing.Ledger, inform: p.env.StartInformers, again: make(chan *inflight.Work, 1)}
	s.make = func() (schedules, error) {
		opts, err := p.opts.Scheduler()
		if err != nil {
			return nil, err
		}
		return controllers.NewScheduler(ctx, own, opts)
	}
	if s.first, err = s.make(); err != nil {
		return fmt.Errorf("making the scheduler: %w", err)
	}
	p.scheduler = s
	p.built = append(p.built, part{"scheduler", s.run})
	return nil
}

// runScheduler runs the scheduler for one term.
func (p *Parts) runScheduler(ctx context.Context, token fence.Token) error {
	e, end, err := p.env.Term(ctx, p.ownConfig("system:kube-scheduler"), fence.WrapFixed(token))
	if err != nil {
		return err
	}
	defer end()
	e.Random = p.opts.Timing.Random.Fork()
	e.Recorder = p.env.Recorder.OwnedBy("kube-scheduler")
	opts, err := p.opts.Scheduler()
	if err != nil {
		return err
	}
	s, err := controllers.NewScheduler(ctx, e, opts)
	if err != nil {
		return fmt.Errorf("making the scheduler: %w", err)
	}
	e.StartInformers()
	return s.Run(ctx)
}

// schedules is a scheduler.Scheduler. Packages that read a Cluster do not compile the scheduler's packages.
type schedules interface {
	Run(ctx context.Context) error
}

// schedulerPart runs the scheduler, and can halt it.
type schedulerPart struct {
	make   func() (schedules, error)
	first  schedules
	ledger *clock.Ledger
	inform func() // starts the informers that a new scheduler has requested

	mu    sync.Mutex
	stop  context.CancelFunc // nil: it has not begun
	waits bool               // halted before it has begun
	ended chan struct{}
	again chan *inflight.Work
}

func (p *schedulerPart) run(ctx context.Context) error {
	for s, own := p.first, p.begin(ctx); ; {
		err := s.Run(own)
		close(p.ended)
		if err != nil || own.Err() == nil || ctx.Err() != nil {
			return err
		}
		select {
		case starting := <-p.again:
			if s, err = p.make(); err == nil {
				p.inform()
				own = p.begin(ctx)
			}
			starting.End() // what the scheduler has to see is counted now
			if err != nil {
				return fmt.Errorf("making the scheduler again: %w", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// begin returns the context of a run, which halt ends.
func (p *schedulerPart) begin(ctx context.Context) context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != nil {
		p.stop()
	}
	ctx, p.stop = context.WithCancel(ctx)
	if p.waits {
		p.stop() // the scheduler that was built releases what it holds when it runs
	}
	p.waits, p.ended = false, make(chan struct{})
	return ctx
}

// halt ends the scheduler, which start begins anew.
func (p *schedulerPart) halt() (start func()) {
	p.mu.Lock()
	stop, ended := p.stop, p.ended
	p.waits = stop == nil
	p.mu.Unlock()
	if stop != nil {
		stop()
		<-ended
	}
	return sync.OnceFunc(func() { p.again <- inflight.Begin(p.ledger, inflight.Action) })
}
