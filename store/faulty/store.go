package faulty

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/inflight"
	"minikcm.dev/minikcm/store"
)

// Store is a store on another one. All its methods may be called from several
// goroutines.
type Store struct {
	inner  store.Store
	clock  clock.Clock
	random *clock.Random

	// broken is true while a fault is injected, so that operations cost one load while
	// none is.
	broken atomic.Bool

	mu      sync.Mutex
	faults  []*Fault // in the order of their injection
	watches map[*watch]struct{}
	closed  chan struct{}
	ended   sync.WaitGroup
}

// New returns a store on inner, which it closes, without any fault.
func New(inner store.Store, c clock.Clock, random *clock.Random) *Store {
	return &Store{inner: inner, clock: c, random: random, watches: map[*watch]struct{}{}, closed: make(chan struct{})}
}

// Inject lets a fault happen to the operations that begin from now on, until remove
// is called. Of several that meet an operation, all delay it, and the oldest that
// has an error is what it fails with.
func (s *Store) Inject(f Fault) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
	s.broken.Store(true)
	if f.EndWatches {
		for w := range s.watches {
			w.end(f.Err)
		}
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.faults = slices.DeleteFunc(s.faults, func(other *Fault) bool { return other == &f })
		s.broken.Store(len(s.faults) > 0)
	}
}

// Broken reports whether a fault is injected.
func (s *Store) Broken() bool { return s.broken.Load() }

// InjectFor is Inject with an end after d, of the clock's time.
func (s *Store) InjectFor(f Fault, d time.Duration) (remove func()) {
	end := s.Inject(f)
	timer := s.clock.AfterFunc(d, end)
	return func() {
		timer.Stop()
		end()
	}
}

// fate is what happens to one operation.
type fate struct {
	latency time.Duration
	err     error
	made    bool // although it fails
}

func (s *Store) fate(ctx context.Context, operation Operations, key string, adds bool) fate {
	var out fate
	if !s.Broken() {
		return out
	}
	isRequest, _ := store.RequestOf(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		switch {
		case !f.meets(operation, key), f.Requests && !isRequest, f.Share > 0 && s.random.Float64() >= f.Share:
			continue
		case errors.Is(f.Err, store.ErrNoSpace) && !adds:
			continue
		}
		out.latency += f.Latency
		if out.err == nil && f.Err != nil {
			out.err = f.Err
			out.made = f.Unknown && s.random.IntN(2) == 0
		}
	}
	return out
}

// suffer waits and returns what an operation of the fate fails with.
func (s *Store) suffer(ctx context.Context, f fate) error {
	if f.latency > 0 {
		if err := s.wait(ctx, f.latency); err != nil {
			return err
		}
	}
	return f.err
}

// wait lets time pass, in which the work whose context it is is not in flight, or else
// virtual time would not pass.
func (s *Store) wait(ctx context.Context, d time.Duration) error {
	if isRequest, mayWait := store.RequestOf(ctx); isRequest && !mayWait {
		return nil
	}
	var due inflight.Latch
	timer := s.clock.AfterFunc(d, due.Open)
	defer timer.Stop()
	switch err := due.WaitOr(ctx, s.closed); {
	case err != nil:
		return ctx.Err()
	case !due.IsOpen():
		return &store.UnavailableError{Err: store.ErrClosed}
	}
	return nil
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key string, revision int64) (*store.KeyValue, error) {
	if err := s.suffer(ctx, s.fate(ctx, Reads, key, false)); err != nil {
		return nil, err
	}
	return s.inner.Get(ctx, key, revision)
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, prefix string, opts store.ListOptions) (*store.ListResult, error) {
	if err := s.suffer(ctx, s.fate(ctx, Reads, prefix, false)); err != nil {
		return nil, err
	}
	return s.inner.List(ctx, prefix, opts)
}

// Revision implements store.Store.
func (s *Store) Revision(ctx context.Context) (int64, error) {
	if err := s.suffer(ctx, s.fate(ctx, Reads, "", false)); err != nil {
		return 0, err
	}
	return s.inner.Revision(ctx)
}

// Put implements store.Store.
func (s *Store) Put(ctx context.Context, key string, value []byte, expected int64) (int64, error) {
	return s.write(ctx, key, true, func() (int64, error) { return s.inner.Put(ctx, key, value, expected) })
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key string, expected int64) (int64, error) {
	return s.write(ctx, key, false, func() (int64, error) { return s.inner.Delete(ctx, key, expected) })
}

func (s *Store) write(ctx context.Context, key string, adds bool, write func() (int64, error)) (int64, error) {
	f := s.fate(ctx, Writes, key, adds)
	if f.made {
		// That it was made is what its caller does not get to know.
		_, _ = write()
	}
	if err := s.suffer(ctx, f); err != nil {
		return 0, err
	}
	return write()
}

// RequestProgress implements store.Store.
func (s *Store) RequestProgress(ctx context.Context, prefix string) error {
	if err := s.suffer(ctx, s.fate(ctx, Watches, prefix, false)); err != nil {
		return err
	}
	return s.inner.RequestProgress(ctx, prefix)
}

// Compact implements store.Store.
func (s *Store) Compact(ctx context.Context, revision int64) error {
	if err := s.suffer(ctx, s.fate(ctx, Compactions, "", false)); err != nil {
		return err
	}
	return s.inner.Compact(ctx, revision)
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	s.mu.Unlock()
	err := s.inner.Close()
	s.ended.Wait()
	return err
}
