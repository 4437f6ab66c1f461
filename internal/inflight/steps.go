package inflight

import (
	"context"
	"fmt"
)

// PauseWork makes work that joins a Line from now on wait until Step takes it or ResumeWork is called. Work
// that is in flight goes on, and the work that it hands on waits. No time passes on a virtual clock while work
// waits. The work of the ledger must not take turns.
//
//	a client            the ledger                       the caller of Step
//	                    pauses work
//	scales web          1 request
//	  the event adds    1 request; 1 key waits
//	                    1 key waits                      Step: the key of web
//	                    1 key runs
//	                    it creates a pod: 2 keys wait    returns
func (l *Ledger) PauseWork() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.takes.paused = true
	l.workPaused.Store(true)
	l.stagesPaused.Store(false)
}

// ResumeWork ends PauseWork: the work that waits goes on, in the order in which it joined.
func (l *Ledger) ResumeWork() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.takes.paused {
		return
	}
	l.takes.paused, l.takes.steps = false, 0
	l.workPaused.Store(false)
	l.stagesPaused.Store(false)
	for len(l.takes.line) > 0 {
		l.popLocked()
	}
	l.quiet = wake(l.quiet)
}

// Step lets the first piece of work that PauseWork makes wait go on, and returns it when all work
// that follows from it is done or waits. It returns nil if none waits.
func (l *Ledger) Step(ctx context.Context) (taken *Waiting, err error) {
	if err := l.WaitPaused(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	if !l.takes.paused || len(l.takes.line) == 0 {
		l.mu.Unlock()
		return nil, nil
	}
	at := l.takes.line[0].at
	l.takes.steps = 1
	l.grantLocked()
	l.mu.Unlock()
	return &at, l.WaitPaused(ctx)
}

// WaitPaused returns when all work in flight waits because of PauseWork, or with the context's error.
func (l *Ledger) WaitPaused(ctx context.Context) error {
	for {
		l.mu.Lock()
		if l.takes.steps == 0 && l.total == int64(len(l.takes.line)) {
			l.mu.Unlock()
			return ctx.Err()
		}
		quiet := l.whenQuietLocked()
		l.mu.Unlock()
		select {
		case <-quiet:
		case <-ctx.Done():
			l.mu.Lock()
			l.takes.steps = 0
			l.mu.Unlock()
			return fmt.Errorf("waiting for a step to end (in flight: %s): %w", l, ctx.Err())
		}
	}
}

// pause makes work that is counted wait for a step, and reports whether it does.
func (t *turn) pause(at Waiting) bool {
	t.ledger.mu.Lock()
	defer t.ledger.mu.Unlock()
	if !t.ledger.takes.paused || at.Detail != nil && !t.ledger.stagesPaused.Load() {
		return false
	}
	t.at = at
	t.place = Place{}
	if at.Detail == nil || at.Begins {
		t.place.generation = 1 // what stopped at a stage comes first
	}
	t.waitLocked()
	if t.ledger.total == t.ledger.turns {
		t.ledger.quiet = wake(t.ledger.quiet)
	}
	return true
}
