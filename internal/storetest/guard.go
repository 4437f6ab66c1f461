package storetest

import (
	"context"
	"errors"
	"testing"

	"minikcm.dev/minikcm/store"
)

// testGuards checks that a write with a guard that does not hold writes nothing, and that a
// guard takes precedence over the expected revision.
func testGuards(ctx context.Context, t *testing.T, s store.Store) {
	j := newJournal(t, s)
	old := j.put(ctx, "/owner", "a")
	key := j.put(ctx, "/key", "1")
	held := store.WithGuard(ctx, store.Guard{Key: "/owner", Revision: old})
	key, err := s.Put(held, "/key", []byte("2"), key)
	if err != nil {
		t.Fatalf("put with a guard that holds: %v", err)
	}
	conflict := (*store.ConflictError)(nil)
	if _, err := s.Put(held, "/key", []byte("3"), key-1); !errors.As(err, &conflict) || conflict.Current == nil || conflict.Current.ModRevision != key {
		t.Errorf("put of another revision with a guard that holds: %v", err)
	}
	newest := j.put(ctx, "/owner", "b")
	missing := store.WithGuard(ctx, store.Guard{Key: "/nothing", Revision: old})
	absent := store.WithGuard(ctx, store.Guard{Key: "/nothing"})
	both := store.WithGuard(absent, store.Guard{Key: "/owner", Revision: old})
	table := []struct {
		name    string
		current int64
		do      func() (int64, error)
	}{
		{"put", newest, func() (int64, error) { return s.Put(held, "/key", []byte("3"), key) }},
		{"put of another revision", newest, func() (int64, error) { return s.Put(held, "/key", []byte("3"), key-1) }},
		{"create", newest, func() (int64, error) { return s.Put(held, "/new", []byte("3"), 0) }},
		{"delete", newest, func() (int64, error) { return s.Delete(held, "/key", key) }},
		{"delete of a missing key", newest, func() (int64, error) { return s.Delete(held, "/new", 0) }},
		{"put with the second of two guards", newest, func() (int64, error) { return s.Put(both, "/key", []byte("3"), key) }},
		{"put with a missing guard", 0, func() (int64, error) { return s.Put(missing, "/key", []byte("3"), key) }},
	}
	for _, test := range table {
		_, err := test.do()
		guard := (*store.GuardError)(nil)
		if !errors.As(err, &guard) || guard.Current != test.current || guard.Guard.Revision != old {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if revision, err := s.Revision(ctx); err != nil || revision != newest {
		t.Errorf("guards that do not hold changed the revision from %d to %d (%v)", newest, revision, err)
	}
	fresh := store.WithGuard(absent, store.Guard{Key: "/owner", Revision: newest})
	if _, err := s.Delete(fresh, "/key", key); err != nil {
		t.Errorf("delete with guards that hold: %v", err)
	}
}
