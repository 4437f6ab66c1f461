package faulty

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/store"
)

// Store wraps another store. It is safe for concurrent use.
type Store struct {
	inner  store.Store
	clock  clock.Clock
	random *clock.Random

	// broken is true while any fault is injected, so that an operation without faults
	// costs one atomic load.
	broken atomic.Bool

	mu      sync.Mutex
	faults  []*Fault // in the order of injection
	gone    []*Fault // removed, and operations that they delayed may still wait
	ending  bool     // no fault can be injected any more
	watches map[*watch]struct{}
	// attend is called before a fault begins; the result, when it has ended.
	attend func() (end func())
	closed chan struct{}
	ended  sync.WaitGroup
}

// New returns a store without faults that wraps inner. Close closes inner.
func New(inner store.Store, c clock.Clock, random *clock.Random) *Store {
	return &Store{inner: inner, clock: c, random: random, watches: map[*watch]struct{}{}, closed: make(chan struct{})}
}

// Attend makes s call attend before a fault begins, and its result when the fault has ended. It must be
// called before any fault begins.
func (s *Store) Attend(attend func() (end func())) { s.attend = attend }

// Inject applies f to the operations that start from now on, until remove is called. If
// several faults match an operation, their delays add up, and the operation returns the error of
// the oldest fault that has one. An operation that waits for a fault's delay goes on when the
// fault is removed.
func (s *Store) Inject(f Fault) (remove func()) {
	end := func() {}
	if s.attend != nil {
		end = s.attend()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return end
	}
	f.delays, f.removed = inflight.NewDelays(s.clock), make(chan struct{})
	f.ended = sync.OnceFunc(func() { close(f.removed) })
	s.faults = append(s.faults, &f)
	s.broken.Store(true)
	if f.EndWatches {
		for w := range s.watches {
			w.end(f.Err)
		}
	}
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		f.ended()
		f.delays.Cut()
		s.faults = slices.DeleteFunc(s.faults, func(other *Fault) bool { return other == &f })
		s.gone = append(slices.DeleteFunc(s.gone, func(other *Fault) bool { return other.delays.Idle() }), &f)
		s.broken.Store(len(s.faults) > 0)
		end()
	})
}

// holding returns a channel that is closed when the oldest fault that holds the watches of a prefix is
// removed; nil if there is no such fault.
func (s *Store) holding(prefix string) <-chan struct{} {
	if !s.broken.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if f.HoldWatches && f.meets(Watches, prefix) {
			return f.removed
		}
	}
	return nil
}

// Broken reports whether a fault is injected.
func (s *Store) Broken() bool { return s.broken.Load() }

// InjectFor is Inject with an automatic end after d, in time of the clock.
func (s *Store) InjectFor(f Fault, d time.Duration) (remove func()) {
	end := s.Inject(f)
	timer := s.clock.AfterFunc(d, end)
	return func() {
		timer.Stop()
		end()
	}
}

// End removes all faults for good, without waiting for the clock: operations that wait for a delay
// go on at once, in any order. It is for the end of a cluster, whose clock may move no more.
func (s *Store) End() {
	s.mu.Lock()
	s.ending = true
	faults := append(s.faults, s.gone...)
	s.faults, s.gone = nil, nil
	s.broken.Store(false)
	s.mu.Unlock()
	for _, f := range faults {
		f.ended()
		f.delays.Release()
	}
}

// outcome is the effect of the injected faults on one operation.
type outcome struct {
	delays []delay
	err    error
	made   bool // the write takes effect although it fails
}

// delay is the delay of one operation by one fault.
type delay struct {
	by *inflight.Delays
	of time.Duration
}

func (s *Store) decide(ctx context.Context, operation Operations, key string, adds bool) outcome {
	var out outcome
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
		if f.Latency > 0 {
			out.delays = append(out.delays, delay{f.delays, f.Latency})
		}
		if out.err == nil && f.Err != nil {
			out.err = f.Err
			out.made = f.Unknown && s.random.IntN(2) == 0
		}
	}
	return out
}

// apply waits for the outcome's delays and returns its error. The work in ctx (inflight.With) is
// not in flight meanwhile, because virtual time stands still while anything is.
func (s *Store) apply(ctx context.Context, f outcome) error {
	if isRequest, mayWait := store.RequestOf(ctx); isRequest && !mayWait {
		return f.err
	}
	waiting := store.Attached(ctx)
	for _, d := range f.delays {
		if d.by.Sleep(waiting, d.of) != nil {
			return waiting.Err()
		}
		select {
		case <-s.closed:
			return &store.UnavailableError{Err: store.ErrClosed}
		default:
		}
	}
	return f.err
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key string, revision int64) (*store.KeyValue, error) {
	if err := s.apply(ctx, s.decide(ctx, Reads, key, false)); err != nil {
		return nil, err
	}
	return s.inner.Get(ctx, key, revision)
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, prefix string, opts store.ListOptions) (*store.ListResult, error) {
	if err := s.apply(ctx, s.decide(ctx, Reads, prefix, false)); err != nil {
		return nil, err
	}
	return s.inner.List(ctx, prefix, opts)
}

// Revision implements store.Store.
func (s *Store) Revision(ctx context.Context) (int64, error) {
	if err := s.apply(ctx, s.decide(ctx, Reads, "", false)); err != nil {
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
	f := s.decide(ctx, Writes, key, adds)
	if f.made {
		// The write takes effect; its caller gets an error and does not learn that.
		_, _ = write()
	}
	if err := s.apply(ctx, f); err != nil {
		return 0, err
	}
	return write()
}

// RequestProgress implements store.Store.
func (s *Store) RequestProgress(ctx context.Context, prefix string) error {
	if err := s.apply(ctx, s.decide(ctx, Watches, prefix, false)); err != nil {
		return err
	}
	return s.inner.RequestProgress(ctx, prefix)
}

// Compact implements store.Store.
func (s *Store) Compact(ctx context.Context, revision int64) error {
	if err := s.apply(ctx, s.decide(ctx, Compactions, "", false)); err != nil {
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
	s.End()
	err := s.inner.Close()
	s.ended.Wait()
	return err
}
