package apiserver

import (
	"context"

	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/apiserver/watchcache"
	"minikcm.dev/minikcm/clock"
)

// reach waits for a revision that does not exist yet, for as long as upstream does. The
// request is not in flight meanwhile.
func (rq *request) reach(ctx context.Context, revision int64) error {
	if revision == 0 {
		return nil
	}
	ledger := rq.server.opts.Ledger
	pause := watchcache.Pause{Begin: func() {}, End: func() {}}
	if !rq.longRunning() {
		pause.Begin = func() { ledger.End(clock.Request, 1) }
		pause.End = func() { ledger.Begin(clock.Request, 1) }
	}
	err := rq.objects.Cache().Reach(ctx, revision, pause)
	if err != nil && ctx.Err() != nil && !rq.longRunning() {
		err = ctx.Err() // the limit of the request's duration; watches have their own
	}
	return storage.Translate(err, rq.groupResource(), "")
}
