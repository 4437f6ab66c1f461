package box

import (
	"context"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
)

// attention is whether the ledger counts a command as being at work.
type attention struct {
	ledger *clock.Ledger

	mu      sync.Mutex
	counted bool
	over    bool
}

func (a *attention) begin() { a.set(true) }
func (a *attention) end()   { a.set(false) }

// finish ends the counting for good.
func (a *attention) finish() {
	a.end()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
}

func (a *attention) set(counted bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case counted == a.counted || a.over:
		return
	case counted:
		a.ledger.Begin(clock.Action, 1)
	default:
		a.ledger.End(clock.Action, 1)
	}
	a.counted = counted
}

// sleep returns when d has passed on the cluster's clock, or with the error of ctx.
func (s *session) sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	woken := make(chan struct{})
	timer := s.machine.Clock.AfterFunc(d, func() {
		s.attention.begin()
		close(woken)
	})
	s.attention.end()
	defer s.attention.begin()
	select {
	case <-woken:
		return nil
	case <-ctx.Done():
		if !timer.Stop() {
			<-woken
		}
		return ctx.Err()
	}
}
