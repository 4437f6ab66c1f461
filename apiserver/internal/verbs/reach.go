package verbs

import (
	"context"

	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/internal/inflight"
)

// reach waits for a revision that does not exist yet, for as long as upstream does. The
// request is not in flight meanwhile.
func (rq *Call) reach(ctx context.Context, revision int64) error {
	if revision == 0 {
		return nil
	}
	own := inflight.Alone(ctx)
	if !rq.LongRunning() {
		own = inflight.With(ctx, rq.Work)
	}
	err := rq.Objects.Cache().Reach(own, revision)
	if err != nil && ctx.Err() != nil && !rq.LongRunning() {
		err = ctx.Err() // the limit of the request's duration; watches have their own
	}
	return storage.Translate(err, rq.GroupResource(), "")
}
