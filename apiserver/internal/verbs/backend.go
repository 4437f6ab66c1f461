package verbs

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/apiserver/internal/fieldmanager"
	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/apiserver/internal/strategy"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/writerecord"
)

// Backend holds the parts of a server that the verbs use.
type Backend struct {
	// Table has the built-in kinds, and Objects returns the storage of one.
	Table   *resources.Table
	Objects func(row *resources.Resource) *storage.Objects
	// Special returns a call as the handlers of rows see it.
	Special func(*Call) resources.Request

	Preparer  *strategy.Preparer
	Fields    *fieldmanager.Managers
	Admission admission.Chain
	// Authorize returns an error if the user of a call may not use another verb on its object, and the
	// authorizer's reason.
	Authorize func(ctx context.Context, rq *Call, verb string) (reason string, err error)
	// Writes is the record of all writes.
	Writes *writerecord.Log
	// Expires is called after a write of an object that expires.
	Expires func(ttl time.Duration, objects *storage.Objects, key string, revision int64)
	// Pause returns the context for the store's operations of a request, whose waits pause
	// its work.
	Pause func(ctx context.Context, work *inflight.Work) context.Context

	Clock  clock.Clock
	Ledger *clock.Ledger
	Random *clock.Random
	Logger klog.Logger
	// SharedStore reports that other servers use the store too.
	SharedStore bool
	// Virtual reports that the clock is virtual.
	Virtual bool
	// MaxWatchTime limits watches for which the client gives no timeout.
	MaxWatchTime time.Duration
	// Stopped is closed when the server stops; every watch then ends.
	Stopped <-chan struct{}
}

// NewCall returns a call that serves a request.
func (b *Backend) NewCall(rq request.Request) *Call { return &Call{Request: rq, backend: b} }

type behindKey struct{}

// WithBehind returns a context for a read that is served at an older revision if it
// accepts any.
func WithBehind(ctx context.Context, revision int64) context.Context {
	return context.WithValue(ctx, behindKey{}, revision)
}

// behind returns the revision of WithBehind; 0: the newest in the cache.
func behind(ctx context.Context) int64 {
	revision, _ := ctx.Value(behindKey{}).(int64)
	return revision
}
