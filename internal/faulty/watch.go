package faulty

import (
	"context"
	"sync"

	"minikcm.dev/minikcm/store"
)

// watch forwards the batches of another watch until a fault ends it.
type watch struct {
	inner   store.Watch
	cancel  context.CancelFunc
	batches chan store.Batch
	err     error // set before batches is closed

	mu     sync.Mutex
	broken error
}

// Watch implements store.Store.
func (s *Store) Watch(ctx context.Context, prefix string, from int64) (store.Watch, error) {
	if err := s.apply(ctx, s.decide(ctx, Watches, prefix, false)); err != nil {
		return nil, err
	}
	innerCtx, cancel := context.WithCancel(ctx)
	inner, err := s.inner.Watch(innerCtx, prefix, from)
	if err != nil {
		cancel()
		return nil, err
	}
	w := &watch{inner: inner, cancel: cancel, batches: make(chan store.Batch)}
	s.mu.Lock()
	s.watches[w] = struct{}{}
	s.mu.Unlock()
	s.ended.Go(func() {
		defer cancel()
		w.run(ctx, innerCtx, s.closed, func() <-chan struct{} { return s.holding(prefix) })
		s.mu.Lock()
		delete(s.watches, w)
		s.mu.Unlock()
	})
	return w, nil
}

// Batches implements store.Watch.
func (w *watch) Batches() <-chan store.Batch { return w.batches }

// Err implements store.Watch.
func (w *watch) Err() error { return w.err }

// end breaks the watch.
func (w *watch) end(err error) {
	w.mu.Lock()
	w.broken = err
	w.mu.Unlock()
	w.cancel()
}

// run forwards the batches. It waits while holding returns a channel that is not closed; a batch
// that waits when the watch ends is dropped.
func (w *watch) run(ctx, innerCtx context.Context, closed <-chan struct{}, holding func() <-chan struct{}) {
	defer close(w.batches)
	for batch := range w.inner.Batches() {
		for held := holding(); held != nil && innerCtx.Err() == nil && !isClosed(closed); held = holding() {
			select {
			case <-held:
			case <-innerCtx.Done():
			case <-closed:
			}
		}
		if innerCtx.Err() != nil || isClosed(closed) {
			continue
		}
		select {
		case w.batches <- batch:
		case <-innerCtx.Done():
		case <-closed:
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case ctx.Err() == nil && w.broken != nil:
		w.err = w.broken
	default:
		w.err = w.inner.Err()
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
