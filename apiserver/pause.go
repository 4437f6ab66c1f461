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
	ctx = clock.Pausing(ctx, s.opts.Ledger, clock.Request)
	pause := clock.PauseOf(ctx)
	return store.WithPause(ctx, &store.Pause{Begin: pause.Begin, End: pause.End, Never: !s.mayWait(ctx)})
}

// mayWait reports whether time can pass while a request waits. The cluster's own parts
// count their work themselves: if they cannot pause it, virtual time stands still.
func (s *Server) mayWait(ctx context.Context) bool {
	if _, virtual := s.opts.Clock.(*clock.Virtual); !virtual || !isLocal(ctx) {
		return true
	}
	user := auth.FromContext(ctx)
	return user == nil || !strings.HasPrefix(user.Name, "system:") || pausesCaller(ctx)
}

// pausesCaller is whether the request was made by work that can pause.
func pausesCaller(ctx context.Context) bool { return clock.PauseOf(ctx).Caller() != nil }
