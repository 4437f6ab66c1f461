package apiserver

import (
	"context"

	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/apiserver/watchcache"
	"minikcm.dev/minikcm/clock"
)

// reach waits for a revision that a client asks for before it has happened, for as
// long as upstream does. A request that waits for time to pass is not in flight.
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
		err = ctx.Err() // the request's time is over, not a watch's
	}
	return storage.Translate(err, rq.groupResource(), "")
}
