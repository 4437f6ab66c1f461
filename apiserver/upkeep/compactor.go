package upkeep

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

// StartCompactor starts the periodic compaction of the store. Each run compacts the
// revision that was newest one interval earlier, so that a client can resume from any
// revision that it has seen within the last interval. It returns nil if interval is
// negative, which disables compaction.
func StartCompactor(s store.Store, c clock.Clock, interval time.Duration, logger klog.Logger) *Periodic {
	if interval < 0 {
		return nil
	}
	var previous int64
	return Start(c, interval, func(ctx context.Context) {
		if previous > 0 {
			var already *store.CompactedError
			if err := s.Compact(ctx, previous); err != nil && !errors.As(err, &already) && ctx.Err() == nil {
				logger.Error(err, "Compacting the store", "revision", previous)
			}
		}
		if revision, err := s.Revision(ctx); err == nil {
			previous = revision
		}
	})
}
