package upkeep

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

// Retention says which revisions compactions keep. A negative Interval disables them.
type Retention struct {
	// Interval is the cluster's time between compactions.
	Interval time.Duration
	// Revisions is the number of the newest revisions that are kept. If it is 0, the revisions of
	// the last Duration are kept or, if that is 0 too, of the last Interval.
	Revisions int64
	Duration  time.Duration
}

// StartCompactor starts the periodic compaction of the store. A client can resume from any
// revision that is kept; up to an interval's revisions more are there. It returns nil if the
// interval is negative.
func StartCompactor(s store.Store, c clock.Clock, keep Retention, logger klog.Logger) *Periodic {
	if keep.Interval < 0 {
		return nil
	}
	due := newCompactions(keep)
	return Start(c, keep.Interval, func(ctx context.Context) {
		newest, err := s.Revision(ctx)
		if err != nil {
			return
		}
		revision := due.at(c.Now(), newest)
		if revision == 0 {
			return
		}
		var already *store.CompactedError
		if err := s.Compact(ctx, revision); err != nil && !errors.As(err, &already) && ctx.Err() == nil {
			logger.Error(err, "Compacting the store", "revision", revision)
		}
	})
}

// mark is the newest revision at a time.
type mark struct {
	time     time.Time
	revision int64
}

// compactions decides which revision a compaction is at.
type compactions struct {
	keep  Retention
	marks []mark // oldest first, the newest that may be forgotten and those after it
}

func newCompactions(keep Retention) *compactions {
	if keep.Duration == 0 {
		keep.Duration = keep.Interval
	}
	return &compactions{keep: keep}
}

// at returns the revision at which the store is compacted now, when its newest revision is newest;
// 0: none yet.
func (c *compactions) at(now time.Time, newest int64) int64 {
	if c.keep.Revisions > 0 {
		return max(newest-c.keep.Revisions, 0)
	}
	c.marks = append(c.marks, mark{now, newest})
	for len(c.marks) > 1 && now.Sub(c.marks[1].time) >= c.keep.Duration {
		c.marks = c.marks[1:]
	}
	if now.Sub(c.marks[0].time) < c.keep.Duration {
		return 0
	}
	return c.marks[0].revision
}
