package apiserver

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

// startCompactor returns what forgets the store's history: at each interval what was
// there at the interval before, so that a client always has at least one interval to go
// on from a revision that it has seen. It is nil if interval is negative: nothing is
// ever forgotten.
func startCompactor(s store.Store, c clock.Clock, interval time.Duration, logger klog.Logger) *periodic {
	if interval < 0 {
		return nil
	}
	var previous int64
	return startPeriodic(c, interval, func(ctx context.Context) {
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
