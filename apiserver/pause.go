package apiserver

import (
	"context"
	"strings"

	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

// withPause lets what a request does let time pass: it is not in flight then, nor is
// whoever waits for it, if he has said so (clock.Pausing).
func (s *Server) withPause(ctx context.Context) context.Context {
	never := !s.mayWait(ctx)
	ctx = clock.Pausing(ctx, s.opts.Ledger, clock.Request)
	pause := clock.PauseOf(ctx)
	return store.WithPause(ctx, &store.Pause{Begin: pause.Begin, End: pause.End, Never: never})
}

// mayWait reports whether time can pass while a request waits. The cluster's own parts
// count their work themselves: if they cannot pause it, virtual time stands still.
func (s *Server) mayWait(ctx context.Context) bool {
	return !isLocal(ctx) || s.mayWaitFor(ctx, auth.FromContext(ctx))
}

// mayWaitFor is mayWait for a client in the process.
func (s *Server) mayWaitFor(ctx context.Context, user *auth.User) bool {
	if !s.isVirtual() {
		return true
	}
	if clock.IsHurried(ctx) {
		return false
	}
	return user == nil || !strings.HasPrefix(user.Name, "system:") || clock.PauseOf(ctx) != nil
}

func (s *Server) isVirtual() bool {
	_, virtual := s.opts.Clock.(*clock.Virtual)
	return virtual
}
