package apiserver

import (
	"context"
	"strings"

	"minikcm.dev/minikcm/apiserver/internal/transport"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/store"
)

// withPause returns a context whose waits pause the request: while it waits for time to
// pass, neither its work nor the work of the caller that waits for it (inflight.With) is in
// flight.
func (s *Server) withPause(ctx context.Context, work *inflight.Work) context.Context {
	if s.isHurried(ctx) {
		return ctx // the store neither delays nor fails it
	}
	mayWait := s.mayWait(ctx)
	return store.ForRequest(inflight.With(ctx, work), mayWait)
}

// mayWait reports whether virtual time can pass while a request waits. Components count
// their own work in the ledger; unless they can pause it, virtual time stands still.
func (s *Server) mayWait(ctx context.Context) bool {
	return !transport.IsLocal(ctx) || s.mayWaitFor(ctx, auth.FromContext(ctx))
}

// mayWaitFor is mayWait for an in-process client.
func (s *Server) mayWaitFor(ctx context.Context, user *auth.User) bool {
	if !s.isVirtual() {
		return true
	}
	if s.isHurried(ctx) {
		return false
	}
	return user == nil || !strings.HasPrefix(user.Name, "system:") || inflight.MayPause(ctx)
}

// isHurried reports whether virtual time stands still until the request has succeeded.
// Faults do not apply to such requests, because they would never end.
func (s *Server) isHurried(ctx context.Context) bool {
	return s.isVirtual() && inflight.IsHurried(ctx)
}

func (s *Server) isVirtual() bool {
	_, virtual := s.opts.Clock.(*clock.Virtual)
	return virtual
}
