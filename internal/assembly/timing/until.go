package timing

import (
	"context"
	"sync"

	"minikcm.dev/minikcm/internal/inflight"
)

// Looks is a condition that Until waits for.
type Looks struct {
	// Look returns true, or an error, when the wait is over.
	Look func(ctx context.Context) (done bool, err error)
	// Observe calls its argument after every write, until end is called.
	Observe func(written func()) (end func())
	// Arm, if not nil, gets a function that causes one more call of Look, for example from a timer.
	Arm func(raise func())
}

// Until calls Look immediately and then after every write, until it returns true or an error.
// Virtual time runs meanwhile, but not between a write and the following call: Look sees a state
// at the time at which it occurs.
func (t *Timing) Until(ctx context.Context, l Looks) error {
	// The queue has a single key, whose turn comes before all others, so that look sees the
	// result of each.
	looks := inflight.NewQueue(inflight.QueueOptions[struct{}]{
		Ledger: t.Ledger, Kind: inflight.Event, Name: inflight.First, KeyName: func(struct{}) string { return "" },
	})
	raise := func() { looks.Add(struct{}{}) }
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer l.Observe(raise)()
	raise()
	if l.Arm != nil {
		l.Arm(raise)
	}
	done := make(chan struct{})
	var outcome error
	var looking sync.WaitGroup
	looking.Go(func() {
		outcome = follow(ctx, looks, l.Look, done)
	})
	err := t.Wait(ctx, done)
	cancel()
	looking.Wait()
	looks.Close()
	if err != nil {
		return err
	}
	return outcome
}

// follow calls look for each key until look returns true or an error, or ctx ends. It
// closes done while the last call is still in flight, so that no virtual time passes
// before Wait returns.
func follow(ctx context.Context, looks inflight.Queue[struct{}], look func(ctx context.Context) (bool, error), done chan<- struct{}) error {
	for {
		key, _, ok := looks.Get(ctx)
		if !ok {
			close(done)
			return context.Cause(ctx)
		}
		over, err := look(ctx)
		if over || err != nil {
			close(done)
			looks.Done(key)
			return err
		}
		looks.Done(key)
	}
}
