package apiserver

import (
	"context"

	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/clock/inflight"
)

// reach waits for a revision that a client asks for before it has happened, for as
// long as upstream does. A request that waits for time to pass is not in flight.
func (rq *request) reach(ctx context.Context, revision int64) error {
	if revision == 0 {
		return nil
	}
	own := inflight.Alone(ctx)
	if !rq.longRunning() {
		own = inflight.With(ctx, rq.work)
	}
	err := rq.objects.Cache().Reach(own, revision)
	if err != nil && ctx.Err() != nil && !rq.longRunning() {
		err = ctx.Err() // the request's time is over, not a watch's
	}
	return storage.Translate(err, rq.groupResource(), "")
}
