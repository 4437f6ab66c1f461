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
	if s.isHurried(ctx) {
		return ctx // nor does the store let it wait, or fail
	}
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
	if s.isHurried(ctx) {
		return false
	}
	return user == nil || !strings.HasPrefix(user.Name, "system:") || clock.PauseOf(ctx) != nil
}

// isHurried is of requests that virtual time stands still for until they have succeeded.
// No fault meets them: none would ever end.
func (s *Server) isHurried(ctx context.Context) bool {
	return s.isVirtual() && clock.IsHurried(ctx)
}

func (s *Server) isVirtual() bool {
	_, virtual := s.opts.Clock.(*clock.Virtual)
	return virtual
}
