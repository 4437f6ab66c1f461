package watchcache

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// futureLimit is how long upstream's watch cache waits for a revision that has not
// happened yet.
const futureLimit = 3 * time.Second

// Pause says what the caller counts as in flight while it serves a request: Begin is
// called when it waits for time to pass, End when it goes on.
type Pause struct{ Begin, End func() }

// Reach waits for a revision that the store has not come to: until the cache has, for
// three seconds of the cluster's time. It is no error if the revision is still in the
// future then: whoever reads at it is told. If ctx ends before, that is the error.
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

// dropFuture lets w go on, unless it does already.
func (c *Cache) dropFuture(w *waiter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.future, w); i >= 0 {
		c.future = slices.Delete(c.future, i, i+1)
		w.wake()
	}
}
