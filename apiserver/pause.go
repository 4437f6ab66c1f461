package apiserver

import (
	"context"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

// withPause lets a store that waits for the clock say so: a request that waits for
// time to pass is not in flight.
func (s *Server) withPause(ctx context.Context) context.Context {
	return store.WithPause(ctx, &store.Pause{
		Begin: func() { s.opts.Ledger.End(clock.Request, 1) },
		End:   func() { s.opts.Ledger.Begin(clock.Request, 1) },
	})
}
