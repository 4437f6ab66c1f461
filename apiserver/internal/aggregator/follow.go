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
		err := a.followOnce(ctx, resource, changed)
		if ctx.Err() != nil || errors.Is(err, watchcache.ErrClosed) {
			return
		}
		a.opts.Logger.V(2).Info("Watching for the aggregation layer ended", "resource", resource.Resource, "err", err)
		if inflight.Sleep(ctx, a.opts.Clock, retryInterval) != nil {
			return
		}
	}
}

func (a *Aggregator) followOnce(ctx context.Context, resource schema.GroupVersionResource, changed func(runtime.Object)) error {
	objects := a.opts.Objects(resource)
	watcher, err := objects.Cache().Watch(ctx, watchcache.WatchOptions{Prefix: objects.Prefix("")})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	for {
		events, err := watcher.Next(ctx)
		if err != nil {
			return err
		}
		for i := range events {
			if object := events[i].Entry.Object(); object != nil {
				changed(object)
			}
		}
	}
}
