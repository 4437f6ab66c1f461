package minikcm

import (
	"context"
	"sync"

	"minikcm.dev/minikcm/apiserver/writerecord"
	"minikcm.dev/minikcm/clock/inflight"
)

// Until calls look at once and then after every write to the cluster, until it says
// that it is done or fails. Virtual time runs meanwhile, but never between a write
// and the look at what it did: what look waits for is seen at the very time at which
// it happened. raise, given to arm, asks for one more look, from a timer for example;
// arm may be nil.
func (c *Cluster) Until(ctx context.Context, look func(ctx context.Context) (done bool, err error), arm func(raise func())) error {
	// There is one key: look. Its turn comes before all others', so that it is seen what
	// each of them has done.
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

// follow closes done when look has said its last word, or ctx has ended: before the last
// look counts no longer, so that no time passes before Wait knows that it is over.
func follow(ctx context.Context, looks *inflight.Queue[struct{}], look func(ctx context.Context) (bool, error), done chan<- struct{}) error {
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
