package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/btree"
)

// Memory is a store in memory: the model that the other implementations are compared
// with, and the fastest store for tests. Its content is lost at Close, and it makes no
// snapshots.
type Memory struct {
	stop  chan struct{} // closed by Close
	ended sync.WaitGroup

	mu        sync.RWMutex
	closed    bool
	revision  int64
	compacted int64
	keys      *btree.BTreeG[*memoryKey]
	// log has one event per revision; its first revision is compacted+1, or 2 without
	// compaction.
	log     []Event
	watches map[*memoryWatch]struct{}
}

// memoryKey is a key with its states, the oldest first. A deletion is a state whose
// CreateRevision is 0.
type memoryKey struct {
	key    string
	states []KeyValue
}

// firstRevision is the revision of an empty store, as in etcd.
const firstRevision = 1

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{
		stop:     make(chan struct{}),
		revision: firstRevision,
		keys:     btree.NewG(32, func(a, b *memoryKey) bool { return a.key < b.key }),
		watches:  map[*memoryWatch]struct{}{},
	}
}

// at returns the state at revision, or nil if the key did not exist then.
func (k *memoryKey) at(revision int64) *KeyValue {
	for i := len(k.states) - 1; i >= 0; i-- {
		if state := &k.states[i]; state.ModRevision <= revision {
			if state.CreateRevision == 0 {
				return nil
			}
			return state
		}
	}
	return nil
}

// compact drops the states before the one at revision, and that one too if it is a
// deletion. It reports whether any state remains.
func (k *memoryKey) compact(revision int64) bool {
	i := len(k.states) - 1
	for i > 0 && k.states[i].ModRevision > revision {
		i--
	}
	if k.states[i].ModRevision <= revision && k.states[i].CreateRevision == 0 {
		i++
	}
	k.states = slices.Clone(k.states[i:])
	return len(k.states) > 0
}

// Get implements Store.
func (s *Memory) Get(ctx context.Context, key string, revision int64) (*KeyValue, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	revision, err := s.readAt(ctx, revision)
	if err != nil {
		return nil, fmt.Errorf("getting %q: %w", key, err)
	}
	if k, ok := s.keys.Get(&memoryKey{key: key}); ok {
		if state := k.at(revision); state != nil {
			kv := *state
			return &kv, nil
		}
	}
	return nil, fmt.Errorf("getting %q: %w", key, ErrNotFound)
}

// List implements Store.
func (s *Memory) List(ctx context.Context, prefix string, opts ListOptions) (*ListResult, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	revision, err := s.readAt(ctx, opts.Revision)
	if err != nil {
		return nil, fmt.Errorf("listing %q: %w", prefix, err)
	}
	list := &ListResult{Revision: revision, KeyValues: []KeyValue{}}
	s.keys.AscendGreaterOrEqual(&memoryKey{key: max(prefix, opts.From)}, func(k *memoryKey) bool {
		if !strings.HasPrefix(k.key, prefix) {
			// The iteration starts at or after prefix, so it is past the prefix.
			return false
		}
		state := k.at(revision)
		if state == nil {
			return true
		}
		list.Count++
		if opts.Limit <= 0 || list.Count <= opts.Limit {
			kv := *state
			if opts.KeysOnly {
				kv.Value = nil
			}
			list.KeyValues = append(list.KeyValues, kv)
		}
		return true
	})
	return list, nil
}

// readAt returns the revision to read at: the newest if revision is 0.
func (s *Memory) readAt(ctx context.Context, revision int64) (int64, error) {
	switch err := s.usable(ctx); {
	case err != nil:
		return 0, err
	case revision > s.revision:
		return 0, &FutureRevisionError{Current: s.revision}
	case revision <= 0:
		return s.revision, nil
	case revision < s.compacted:
		return 0, &CompactedError{Compacted: s.compacted}
	}
	return revision, nil
}

// Put implements Store.
func (s *Memory) Put(ctx context.Context, key string, value []byte, expected int64) (int64, error) {
	revision, err := s.write(ctx, Put, key, value, expected)
	if err != nil {
		return 0, fmt.Errorf("putting %q: %w", key, err)
	}
	return revision, nil
}

// Delete implements Store.
func (s *Memory) Delete(ctx context.Context, key string, expected int64) (int64, error) {
	revision, err := s.write(ctx, Delete, key, nil, expected)
	if err != nil {
		return 0, fmt.Errorf("deleting %q: %w", key, err)
	}
	return revision, nil
}

func (s *Memory) write(ctx context.Context, kind EventType, key string, value []byte, expected int64) (int64, error) {
	if err := checkKey(key); err != nil {
		return 0, err
	}
	if len(key)+len(value) > maxRequestBytes {
		return 0, ErrTooLarge
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	k, found := s.keys.Get(&memoryKey{key: key})
	event := Event{Type: kind, KeyValue: KeyValue{Key: key, ModRevision: s.revision + 1}}
	var current *KeyValue
	if found {
		if state := k.at(s.revision); state != nil {
			copied := *state
			current = &copied
		}
	}
	if err := s.checkGuards(ctx); err != nil {
		return 0, err
	}
	if !expectationHolds(kind, current, expected) {
		return 0, &ConflictError{Key: key, Current: current}
	}
	s.revision++
	if kind == Put {
		event.KeyValue.CreateRevision = s.revision
		if current != nil {
			event.KeyValue.CreateRevision = current.CreateRevision
		}
		if len(value) > 0 { // etcd returns an empty value as nil
			event.KeyValue.Value = value
		}
	}
	if !found {
		k = &memoryKey{key: key}
		s.keys.ReplaceOrInsert(k)
	}
	k.states = append(k.states, event.KeyValue)
	s.log = append(s.log, event)
	for w := range s.watches {
		w.offer(&event)
	}
	return s.revision, nil
}

// checkGuards returns a *GuardError if a guard of the context does not hold.
func (s *Memory) checkGuards(ctx context.Context) error {
	for _, guard := range GuardsOf(ctx) {
		current := int64(0)
		if k, found := s.keys.Get(&memoryKey{key: guard.Key}); found {
			if state := k.at(s.revision); state != nil {
				current = state.ModRevision
			}
		}
		if current != guard.Revision {
			return &GuardError{Guard: guard, Current: current}
		}
	}
	return nil
}

func expectationHolds(kind EventType, current *KeyValue, expected int64) bool {
	if current == nil {
		return kind == Put && expected == 0
	}
	return current.ModRevision == expected
}

// Revision implements Store.
func (s *Memory) Revision(ctx context.Context) (int64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(ctx); err != nil {
		return 0, fmt.Errorf("reading the newest revision: %w", err)
	}
	return s.revision, nil
}

// Compact implements Store.
func (s *Memory) Compact(ctx context.Context, revision int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.usable(ctx)
	if err == nil && revision > s.revision {
		err = &FutureRevisionError{Current: s.revision}
	}
	if err != nil {
		return fmt.Errorf("compacting to revision %d: %w", revision, err)
	}
	if revision <= s.compacted {
		return nil
	}
	first := s.firstLogged()
	s.log = slices.Clone(s.log[min(max(revision+1-first, 0), int64(len(s.log))):])
	s.compacted = revision
	var gone []*memoryKey
	s.keys.Ascend(func(k *memoryKey) bool {
		if !k.compact(revision) {
			gone = append(gone, k)
		}
		return true
	})
	for _, k := range gone {
		s.keys.Delete(k)
	}
	return nil
}

// firstLogged returns the revision of the log's first event.
func (s *Memory) firstLogged() int64 { return s.revision + 1 - int64(len(s.log)) }

// Close implements Store.
func (s *Memory) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.stop)
	}
	s.mu.Unlock()
	s.ended.Wait()
	return nil
}

// usable returns the reason why the store accepts no operations, or nil. The caller
// holds s.mu.
func (s *Memory) usable(ctx context.Context) error {
	if s.closed {
		return &UnavailableError{Err: ErrClosed}
	}
	return ctx.Err()
}
