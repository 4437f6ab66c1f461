package watchcache

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// futureLimit is how long a request waits for a revision that does not exist yet, as in
// upstream's watch cache.
const futureLimit = 3 * time.Second

// Reach waits for a revision that the store has not come to: until the cache has, for
// three seconds of the cluster's time. It is no error if the revision is still in the
// future then: what reads at it gets that error. If ctx ends before, that is the error. The
// work whose context it is (inflight.With) is not in flight meanwhile.
func (c *Cache) Reach(ctx context.Context, revision int64) error {
	tooEarly := c.exists(ctx, revision)
	if !apierrors.HasStatusCause(tooEarly, metav1.CauseTypeResourceVersionTooLarge) {
		return tooEarly
	}
	g, err := c.start(0)
	if err != nil {
		return err
	}
	if err := g.wait(ctx); err != nil {
		return err
	}
	w := &waiter{revision: revision}
	c.mu.Lock()
	if c.closed || c.rev >= revision {
		c.mu.Unlock()
		return nil
	}
	c.future = append(c.future, w)
	timer := c.cfg.Clock.AfterFunc(futureLimit, func() { c.dropFuture(w) })
	c.mu.Unlock()
	defer timer.Stop()
	if w.come.Wait(ctx) != nil {
		c.dropFuture(w)
		return tooEarly
	}
	return nil
}

// dropFuture wakes w, unless it is awake already.
func (c *Cache) dropFuture(w *waiter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.future, w); i >= 0 {
		c.future = slices.Delete(c.future, i, i+1)
		w.come.Open()
	}
}
