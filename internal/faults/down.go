package faults

import (
	"context"
	"errors"
	"sync"

	"minikcm.dev/minikcm/internal/inflight"
)

// ErrRefused is the error that in-process clients get from a server that is down.
var ErrRefused = errors.New("dial tcp: connect: connection refused")

// Down makes the server unreachable until up is called: connections are refused, and
// watches end. Watches of in-process informers wait.
func (f *Faults) Down() (up func()) {
	end := f.attended()
	f.mu.Lock()
	if f.down++; f.down == 1 {
		f.up = &inflight.Latch{}
	}
	f.settleLocked()
	f.mu.Unlock()
	f.DropWatches(Match{}, 0)
	return sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.down--
		f.settleLocked()
		if f.down == 0 {
			f.up.Open()
		}
		end()
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
// context allows a pause (inflight.MayPause) waits, instead of its client retrying; any
// other request fails with ErrRefused.
func (f *Faults) Reach(ctx context.Context, user string, isWatch bool) error {
	if f.AtRest() {
		return nil
	}
	f.mu.Lock()
	down, up := f.isDownLocked(user), f.up
	f.mu.Unlock()
	switch {
	case !down:
		return nil
	case !isWatch || !inflight.MayPause(ctx):
		return ErrRefused
	case up.Wait(ctx) != nil:
		return ctx.Err()
	}
	return nil
}
