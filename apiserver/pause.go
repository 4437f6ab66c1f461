package apiserver

import (
	"context"
	"strings"

	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/inflight"
	"minikcm.dev/minikcm/store"
)

// withPause lets what a request does let time pass: its work is not in flight then, nor
// is that of the caller that waits for it (inflight.With).
func (s *Server) withPause(ctx context.Context, work *inflight.Work) context.Context {
	if s.isHurried(ctx) {
		return ctx // nor does the store let it wait, or fail
	}
	mayWait := s.mayWait(ctx)
	return store.ForRequest(inflight.With(ctx, work), mayWait)
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
	return user == nil || !strings.HasPrefix(user.Name, "system:") || inflight.MayPause(ctx)
}

// isHurried is of requests that virtual time stands still for until they have succeeded.
// No fault meets them: none would ever end.
func (s *Server) isHurried(ctx context.Context) bool {
	return s.isVirtual() && inflight.IsHurried(ctx)
}

func (s *Server) isVirtual() bool {
	_, virtual := s.opts.Clock.(*clock.Virtual)
	return virtual
}
