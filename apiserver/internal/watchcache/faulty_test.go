package watchcache

import (
	"context"
	"sync"

	"minikcm.dev/minikcm/store"
)

// faultyStore is a store whose watches can be held or broken, and whose lists can fail.
type faultyStore struct {
	store.Store

	mu      sync.Mutex
	listErr error
	lists   int
	held    chan struct{} // closed to release; nil if nothing is held
	watches []*faultyWatch
}

func (s *faultyStore) List(ctx context.Context, prefix string, opts store.ListOptions) (*store.ListResult, error) {
	s.mu.Lock()
	s.lists++
	err := s.listErr
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return s.Store.List(ctx, prefix, opts)
}

func (s *faultyStore) failLists(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listErr = err
}

func (s *faultyStore) listed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

// hold blocks the delivery of batches until release is called.
func (s *faultyStore) hold() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := make(chan struct{})
	s.held = held
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held = nil
		close(held)
	}
}

// breakWatches ends all watches with err.
func (s *faultyStore) breakWatches(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches {
		w.broken <- err
	}
	s.watches = nil
}

func (s *faultyStore) Watch(ctx context.Context, prefix string, from int64) (store.Watch, error) {
	ctx, cancel := context.WithCancel(ctx)
	inner, err := s.Store.Watch(ctx, prefix, from)
	if err != nil {
		cancel()
		return nil, err
	}
	w := &faultyWatch{store: s, inner: inner, batches: make(chan store.Batch), broken: make(chan error, 1)}
	s.mu.Lock()
	s.watches = append(s.watches, w)
	s.mu.Unlock()
	go func() {
		defer cancel()
		w.run(ctx)
	}()
	return w, nil
}

type faultyWatch struct {
	store   *faultyStore
	inner   store.Watch
	batches chan store.Batch
	broken  chan error
	err     error
}

func (w *faultyWatch) Batches() <-chan store.Batch { return w.batches }
func (w *faultyWatch) Err() error                  { return w.err }

func (w *faultyWatch) run(ctx context.Context) {
	defer close(w.batches)
	for {
		select {
		case batch, ok := <-w.inner.Batches():
			if !ok {
				w.err = w.inner.Err()
				return
			}
			w.store.mu.Lock()
			held := w.store.held
			w.store.mu.Unlock()
			if held != nil {
				select {
				case <-held:
				case <-ctx.Done():
				}
			}
			select {
			case w.batches <- batch:
			case <-ctx.Done():
			}
		case w.err = <-w.broken:
			return
		}
	}
}
