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

// Reach waits until the cache has reached a revision that the store does not have yet, for
// at most three seconds of cluster time. It returns nil when that time is over as well; the
// read that follows returns the error. It returns a Timeout error with the cause
// ResourceVersionTooLarge if ctx ends first. The work in ctx (inflight.With) is not in
// flight while it waits.
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
