package faults

import (
	"context"
	"errors"
	"sync"

	"minikcm.dev/minikcm/clock"
)

// ErrRefused is the error that in-process clients get from a server that is down.
var ErrRefused = errors.New("dial tcp: connect: connection refused")

// waiter is the watch of an in-process client that waits until the server is up again.
type waiter struct {
	resume func()
	up     chan struct{}
}

// Down makes the server unreachable until up is called: connections are refused, and
// watches end. Watches of in-process informers wait.
func (f *Faults) Down() (up func()) {
	f.mu.Lock()
	f.down++
	f.settleLocked()
	f.mu.Unlock()
	f.DropWatches(Match{}, 0)
	return sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.down--
		f.settleLocked()
		if f.down > 0 {
			return
		}
		for w := range f.waiting {
			w.resume()
			close(w.up)
			delete(f.waiting, w)
		}
	})
}

// IsDown reports whether the server is unreachable for a user.
func (f *Faults) IsDown(user string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.isDownLocked(user)
}

func (f *Faults) isDownLocked(user string) bool {
	if f.down == 0 {
		return false
	}
	for _, other := range f.exempt {
		if other == user {
			return false
		}
	}
	return true
}

// Reach returns nil when the server is reachable. While it is down, a watch whose
// context allows a pause (clock.PauseOf) waits, instead of its client retrying; any
// other request fails with ErrRefused.
func (f *Faults) Reach(ctx context.Context, user string, isWatch bool) error {
	if f.AtRest() {
		return nil
	}
	f.mu.Lock()
	if !f.isDownLocked(user) {
		f.mu.Unlock()
		return nil
	}
	pause := clock.PauseOf(ctx)
	if !isWatch || pause == nil {
		f.mu.Unlock()
		return ErrRefused
	}
	w := &waiter{resume: sync.OnceFunc(pause.End), up: make(chan struct{})}
	f.waiting[w] = struct{}{}
	pause.Begin()
	f.mu.Unlock()
	select {
	case <-w.up:
		return nil
	case <-ctx.Done():
		f.mu.Lock()
		delete(f.waiting, w)
		f.mu.Unlock()
		w.resume()
		return ctx.Err()
	}
}
