package watchcache

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
)

// Changes lead from the state at one revision to the state at a later one.
type Changes struct {
	// All reports that the cache does not have the changes any more: the objects are all
	// that there are.
	All bool
	// Revision is the revision of the later state.
	Revision int64

	ring    []*change
	objects view
	prefix  string
}

// Each calls do for every change, in order. object is the new state, or the last one of a
// deleted object; it must not be modified.
func (c *Changes) Each(do func(object runtime.Object, deleted bool)) {
	if c.All {
		f := newFilter(c.prefix, "", nil, nil)
		c.objects.each(&f, "", func(e *Entry) bool {
			do(e.Object(), false)
			return true
		})
		return
	}
	for _, ch := range c.ring {
		if ch.entry != nil {
			do(ch.entry.Object(), false)
		} else {
			do(ch.previous.Object(), true)
		}
	}
}

// ChangesSince returns the changes from the state at the revision since, which an earlier call
// returned, to the current one, whose revision is at least minRev. The cost is in proportion to
// the changes as long as the cache has them, which it does for minutes; since 0 reads all
// objects.
func (c *Cache) ChangesSince(ctx context.Context, since, minRev int64) (*Changes, error) {
	if minRev > 0 {
		if err := c.exists(ctx, minRev); err != nil {
			return nil, err
		}
	}
	if err := c.lockAt(ctx, minRev, 0); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	changes := &Changes{Revision: c.rev}
	if since == 0 || since < c.ring.floor || since > c.rev {
		changes.All, changes.objects, changes.prefix = true, c.snapshot.share(), c.cfg.Prefix
		return changes, nil
	}
	changes.ring = c.ring.after(since)
	return changes, nil
}
