package minikcm

import (
	"context"
	"sync"

	"minikcm.dev/minikcm/apiserver/record"
	"minikcm.dev/minikcm/clock"
)

// Until calls look at once and then after every write to the cluster, until it says
// that it is done or fails. Virtual time runs meanwhile, but never between a write
// and the look at what it did: what look waits for is seen at the very time at which
// it happened. raise, given to arm, asks for one more look, from a timer for example;
// arm may be nil.
func (c *Cluster) Until(ctx context.Context, look func(ctx context.Context) (done bool, err error), arm func(raise func())) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &signal{ledger: c.ledger, raised: make(chan struct{}, 1)}
	defer s.drop()
	defer c.Writes().Observe(func(*record.Write) { s.raise() })()
	s.raise()
	if arm != nil {
		arm(s.raise)
	}
	done := make(chan struct{})
	var outcome error
	var looking sync.WaitGroup
	looking.Go(func() {
		outcome = s.follow(ctx, look)
		close(done)
		// Only now, so that no time passes before Wait knows that it is over.
		s.settle()
	})
	err := c.Wait(ctx, done)
	cancel()
	looking.Wait()
	if err != nil {
		return err
	}
	return outcome
}

// signal says that there is something to look at. From its being raised until it has
// been looked at, an event is in flight.
type signal struct {
	ledger *clock.Ledger
	raised chan struct{}

	mu      sync.Mutex
	up      bool
	turn    *clock.Turn
	looking bool
	dropped bool
}

func (s *signal) raise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.up || s.dropped {
		return
	}
	s.up = true
	if s.ledger.TakesTurns() {
		// Before all others: it is seen what each of them has done.
		s.turn = s.ledger.Join(clock.Event, clock.First, "", func() { s.raised <- struct{}{} })
		return
	}
	s.ledger.Begin(clock.Event, 1)
	s.raised <- struct{}{}
}

// lower takes the signal down; what comes from now on raises it again. The event is
// in flight until settle is called.
func (s *signal) lower() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.up, s.looking = false, true
}

// settle ends the event that has been looked at, if there is one.
func (s *signal) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looking {
		s.looking = false
		s.ledger.End(clock.Event, 1)
	}
}

// drop ends the event that nobody looks at any more.
func (s *signal) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped = true
	if s.up {
		s.up = false
		if s.turn != nil {
			s.turn.Take()
		}
		s.ledger.End(clock.Event, 1)
	}
}

// follow returns when look has said its last word; the signal is not settled then.
func (s *signal) follow(ctx context.Context, look func(ctx context.Context) (bool, error)) error {
	for {
		select {
		case <-s.raised:
			s.lower()
			if done, err := look(ctx); done || err != nil {
				return err
			}
			s.settle()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
