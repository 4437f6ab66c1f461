package aggregator

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/watchcache"
	"minikcm.dev/minikcm/internal/inflight"
)

// follow calls changed for the objects of a resource and for each of their changes, until
// ctx ends. A watch that has failed begins again after retryInterval.
func (a *Aggregator) follow(ctx context.Context, resource schema.GroupVersionResource, changed func(runtime.Object)) {
	for ctx.Err() == nil {
		err := a.opts.Objects(resource).Follow(ctx, 0, func(entry *watchcache.Entry) error {
			if object := entry.Object(); object != nil {
				changed(object)
			}
			return nil
		})
		if ctx.Err() != nil || errors.Is(err, watchcache.ErrClosed) {
			return
		}
		a.opts.Logger.V(2).Info("Watching for the aggregation layer ended", "resource", resource.Resource, "err", err)
		if inflight.Sleep(ctx, a.opts.Clock, retryInterval) != nil {
			return
		}
	}
}
