package watchcache

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// futureLimit is how long a request waits for a revision that does not exist yet, as in
// upstream's watch cache.
const futureLimit = 3 * time.Second

// Pause takes a request out of the ledger while it waits for time to pass: Begin is
// called when the wait starts, End when it is over.
type Pause struct{ Begin, End func() }

// Reach waits until the cache has reached a revision that the store does not have yet,
// for at most three seconds of cluster time. It returns nil when that time is over as
// well; the read that follows returns the error. It returns a Timeout error with the
// cause ResourceVersionTooLarge if ctx ends first.
func (c *Cache) Reach(ctx context.Context, revision int64, pause Pause) error {
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
	w := &waiter{revision: revision, done: make(chan struct{}), woken: sync.OnceFunc(pause.End)}
	c.mu.Lock()
	if c.closed || c.rev >= revision {
		c.mu.Unlock()
		return nil
	}
	c.future = append(c.future, w)
	timer := c.cfg.Clock.AfterFunc(futureLimit, func() { c.dropFuture(w) })
	pause.Begin()
	c.mu.Unlock()
	defer timer.Stop()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		c.dropFuture(w)
		return tooEarly
	}
}

// dropFuture wakes w, unless it is awake already.
func (c *Cache) dropFuture(w *waiter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.future, w); i >= 0 {
		c.future = slices.Delete(c.future, i, i+1)
		w.wake()
	}
}
