package minikcm

import (
	"context"
	"sync"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/writerecord"
)

// Until calls look immediately and then after every write to the cluster, until look
// returns true or an error. Virtual time runs meanwhile, but not between a write and the
// following call: look sees a state at the time at which it occurs. arm, if not nil, gets
// a function that causes one more call, for example from a timer.
func (c *Cluster) Until(ctx context.Context, look func(ctx context.Context) (done bool, err error), arm func(raise func())) error {
	// The queue has a single key, whose turn comes before all others, so that look sees the
	// result of each.
	looks := inflight.NewQueue(inflight.QueueOptions[struct{}]{
		Ledger: c.ledger, Kind: inflight.Event, Name: inflight.First, KeyName: func(struct{}) string { return "" },
	})
	raise := func() { looks.Add(struct{}{}) }
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer c.Writes().Observe(func(*writerecord.Write) { raise() })()
	raise()
	if arm != nil {
		arm(raise)
	}
	done := make(chan struct{})
	var outcome error
	var looking sync.WaitGroup
	looking.Go(func() {
		outcome = follow(ctx, looks, look, done)
	})
	err := c.Wait(ctx, done)
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
