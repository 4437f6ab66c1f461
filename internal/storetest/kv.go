package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"minikcm.dev/minikcm/store"
)

func testWrites(ctx context.Context, t *testing.T, s store.Store) {
	start, err := s.Revision(ctx)
	if err != nil || start < 1 {
		t.Fatalf("revision of an empty store: %d, %v", start, err)
	}
	if _, err := s.Get(ctx, "/a", 0); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get of a missing key: %v", err)
	}
	created, err := s.Put(ctx, "/a", []byte("1"), 0)
	if err != nil || created != start+1 {
		t.Fatalf("create: %d, %v", created, err)
	}
	updated, err := s.Put(ctx, "/a", []byte("2"), created)
	if err != nil || updated != created+1 {
		t.Fatalf("update: %d, %v", updated, err)
	}
	want := &store.KeyValue{Key: "/a", Value: []byte("2"), CreateRevision: created, ModRevision: updated}
	if got, err := s.Get(ctx, "/a", 0); err != nil || !cmp.Equal(got, want) {
		t.Errorf("get: %v, %v", err, cmp.Diff(want, got))
	}
	deleted, err := s.Delete(ctx, "/a", updated)
	if err != nil || deleted != updated+1 {
		t.Fatalf("delete: %d, %v", deleted, err)
	}
	if _, err := s.Get(ctx, "/a", 0); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get of a deleted key: %v", err)
	}
	again, err := s.Put(ctx, "/a", []byte("3"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(ctx, "/a", 0); err != nil || got.CreateRevision != again {
		t.Errorf("a key created again: %+v, %v", got, err)
	}
	if revision, err := s.Revision(ctx); err != nil || revision != again {
		t.Errorf("newest revision: %d, %v; want %d", revision, err, again)
	}
}

func testConflicts(ctx context.Context, t *testing.T, s store.Store) {
	created, err := s.Put(ctx, "/a", []byte("1"), 0)
	if err != nil {
		t.Fatal(err)
	}
	current := &store.KeyValue{Key: "/a", Value: []byte("1"), CreateRevision: created, ModRevision: created}
	table := []struct {
		name string
		do   func() (int64, error)
		want *store.ConflictError
	}{
		{"create of an existing key", func() (int64, error) { return s.Put(ctx, "/a", []byte("2"), 0) }, &store.ConflictError{Key: "/a", Current: current}},
		{"update of another revision", func() (int64, error) { return s.Put(ctx, "/a", []byte("2"), created+1) }, &store.ConflictError{Key: "/a", Current: current}},
		{"update of a missing key", func() (int64, error) { return s.Put(ctx, "/b", []byte("2"), created) }, &store.ConflictError{Key: "/b"}},
		{"delete of another revision", func() (int64, error) { return s.Delete(ctx, "/a", created-1) }, &store.ConflictError{Key: "/a", Current: current}},
		{"delete of no revision", func() (int64, error) { return s.Delete(ctx, "/a", 0) }, &store.ConflictError{Key: "/a", Current: current}},
		{"delete of a missing key", func() (int64, error) { return s.Delete(ctx, "/b", created) }, &store.ConflictError{Key: "/b"}},
		{"delete of a missing key at no revision", func() (int64, error) { return s.Delete(ctx, "/b", 0) }, &store.ConflictError{Key: "/b"}},
	}
	for _, test := range table {
		_, err := test.do()
		got := (*store.ConflictError)(nil)
		if !errors.As(err, &got) || !cmp.Equal(got, test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if revision, err := s.Revision(ctx); err != nil || revision != created {
		t.Errorf("conflicts changed the revision from %d to %d (%v)", created, revision, err)
	}
}

func testHistory(ctx context.Context, t *testing.T, s store.Store) {
	j := newJournal(t, s)
	first := j.put(ctx, "/a", "1")
	j.put(ctx, "/b", "1")
	j.put(ctx, "/a", "2")
	j.remove(ctx, "/a")
	last := j.put(ctx, "/a", "3")
	want := map[int64]string{first: "1", first + 1: "1", first + 2: "2", first + 3: "", last: "3"}
	for revision, value := range want {
		kv, err := s.Get(ctx, "/a", revision)
		if value == "" {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("at revision %d, where the key is deleted: %+v, %v", revision, kv, err)
			}
			continue
		}
		if err != nil || string(kv.Value) != value {
			t.Errorf("at revision %d: %+v, %v; want %q", revision, kv, err, value)
		}
	}
	future := (*store.FutureRevisionError)(nil)
	if _, err := s.Get(ctx, "/a", last+1); !errors.As(err, &future) || future.Current != last {
		t.Errorf("get at a future revision: %v", err)
	}
	if _, err := s.List(ctx, "/", store.ListOptions{Revision: last + 1}); !errors.As(err, &future) || future.Current != last {
		t.Errorf("list at a future revision: %v", err)
	}
	list, err := s.List(ctx, "/", store.ListOptions{Revision: first + 3})
	if err != nil || len(list.KeyValues) != 1 || list.KeyValues[0].Key != "/b" || list.Revision != first+3 {
		t.Errorf("list at a past revision: %+v, %v", list, err)
	}
}

func testLists(ctx context.Context, t *testing.T, s store.Store) {
	j := newJournal(t, s)
	for _, key := range []string{"/b/3", "/b/1", "/a/9", "/b/2", "/b0", "/b", "/c/1"} {
		j.put(ctx, key, "value of "+key)
	}
	newest := j.newest()
	table := []struct {
		name, prefix string
		opts         store.ListOptions
		want         []string
		count        int64
	}{
		{"all", "", store.ListOptions{}, []string{"/a/9", "/b", "/b/1", "/b/2", "/b/3", "/b0", "/c/1"}, 7},
		{"prefix", "/b/", store.ListOptions{}, []string{"/b/1", "/b/2", "/b/3"}, 3},
		{"prefix that is a key", "/b", store.ListOptions{}, []string{"/b", "/b/1", "/b/2", "/b/3", "/b0"}, 5},
		{"nothing", "/d/", store.ListOptions{}, nil, 0},
		{"limit", "/b/", store.ListOptions{Limit: 2}, []string{"/b/1", "/b/2"}, 3},
		{"limit that is the count", "/b/", store.ListOptions{Limit: 3}, []string{"/b/1", "/b/2", "/b/3"}, 3},
		{"from a key", "/b/", store.ListOptions{From: "/b/2"}, []string{"/b/2", "/b/3"}, 2},
		{"from after a key", "/b/", store.ListOptions{From: "/b/2\x00", Limit: 5}, []string{"/b/3"}, 1},
		{"from before the prefix", "/b/", store.ListOptions{From: "/a"}, []string{"/b/1", "/b/2", "/b/3"}, 3},
		{"from after the prefix", "/b/", store.ListOptions{From: "/c"}, nil, 0},
		{"keys only", "/b/", store.ListOptions{KeysOnly: true, Limit: 1}, []string{"/b/1"}, 3},
		{"in the past", "/b/", store.ListOptions{Revision: newest - 6}, []string{"/b/3"}, 1},
	}
	for _, test := range table {
		list, err := s.List(ctx, test.prefix, test.opts)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		var keys []string
		for _, kv := range list.KeyValues {
			keys = append(keys, kv.Key)
			if want := "value of " + kv.Key; string(kv.Value) != want && !test.opts.KeysOnly || len(kv.Value) > 0 && test.opts.KeysOnly {
				t.Errorf("%s: value %q", test.name, kv.Value)
			}
			if kv.ModRevision == 0 || kv.CreateRevision == 0 {
				t.Errorf("%s: no revision: %+v", test.name, kv)
			}
		}
		want := newest
		if test.opts.Revision > 0 {
			want = test.opts.Revision
		}
		if !cmp.Equal(keys, test.want) || list.Count != test.count || list.Revision != want {
			t.Errorf("%s: %v, count %d, revision %d", test.name, keys, list.Count, list.Revision)
		}
		if more := int(test.count) > len(test.want); more != list.More() {
			t.Errorf("%s: More is %v", test.name, list.More())
		}
	}
}

func testKeys(ctx context.Context, t *testing.T, s store.Store) {
	j := newJournal(t, s)
	keys := []string{"\x00", "\x00\x00", "a", "a\x00b", "a\xff", "a\xff\xff", "b", "\xff", "\xff\xff"}
	for _, key := range keys {
		j.put(ctx, key, "v")
	}
	for prefix, want := range map[string]int{"": 9, "a": 4, "a\xff": 2, "\xff": 2, "\xff\xff": 1, "\x00": 2} {
		list, err := s.List(ctx, prefix, store.ListOptions{})
		if err != nil || len(list.KeyValues) != want {
			t.Errorf("prefix %q: %+v, %v; want %d", prefix, list, err, want)
		}
		w, stream := mustWatch(ctx, t, s, prefix, 2)
		if err := s.RequestProgress(ctx, ""); err != nil {
			t.Fatal(err)
		}
		readUntil(ctx, t, w, stream, j.newest())
		if err := Validate(j.history(), *stream); err != nil {
			t.Errorf("watch of prefix %q: %v", prefix, err)
		}
	}
	if _, err := s.Put(ctx, "", []byte("v"), 0); err == nil {
		t.Error("an empty key is stored")
	}
}

func testValues(ctx context.Context, t *testing.T, s store.Store) {
	if _, err := s.Put(ctx, "/empty", []byte{}, 0); err != nil {
		t.Fatal(err)
	}
	if kv, err := s.Get(ctx, "/empty", 0); err != nil || kv.Value != nil {
		t.Errorf("an empty value: %+v, %v", kv, err)
	}
	large := bytes.Repeat([]byte("x"), 1<<20)
	if _, err := s.Put(ctx, "/large", large, 0); err != nil {
		t.Fatal(err)
	}
	if kv, err := s.Get(ctx, "/large", 0); err != nil || !bytes.Equal(kv.Value, large) {
		t.Errorf("a large value: %v", err)
	}
	for _, size := range []int{5 << 20, 20 << 20} {
		if _, err := s.Put(ctx, "/huge", make([]byte, size), 0); !errors.Is(err, store.ErrTooLarge) {
			t.Errorf("a value of %d bytes: %.200v", size, err)
		}
	}
	if _, err := s.Get(ctx, "/huge", 0); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a refused value: %v", err)
	}
}

func testCompaction(ctx context.Context, t *testing.T, s store.Store) {
	j := newJournal(t, s)
	j.put(ctx, "/a", "1")
	j.put(ctx, "/gone", "1")
	j.remove(ctx, "/gone")
	kept := j.put(ctx, "/a", "2")
	newest := j.put(ctx, "/a", "3")
	if first, last, err := store.Oldest(ctx, s); err != nil || first != 1 || last != newest {
		t.Errorf("before a compaction, the revisions %d to %d can be read, error %v; want 1 to %d", first, last, err, newest)
	}
	if err := s.Compact(ctx, kept); err != nil {
		t.Fatal(err)
	}
	if first, last, err := store.Oldest(ctx, s); err != nil || first != kept || last != newest {
		t.Errorf("the revisions %d to %d can be read, error %v; want %d to %d", first, last, err, kept, newest)
	}
	if err := s.Compact(ctx, kept-1); err != nil {
		t.Errorf("compaction of what is compacted: %v", err)
	}
	for revision := kept - 3; revision < kept; revision++ {
		compacted := (*store.CompactedError)(nil)
		if _, err := s.Get(ctx, "/a", revision); !errors.As(err, &compacted) {
			t.Errorf("get at compacted revision %d: %v", revision, err)
		} else if compacted.Compacted != 0 && compacted.Compacted != kept {
			t.Errorf("the oldest revision is %d, and %d is reported", kept, compacted.Compacted)
		}
		if _, err := s.List(ctx, "/", store.ListOptions{Revision: revision}); !errors.As(err, &compacted) {
			t.Errorf("list at compacted revision %d: %v", revision, err)
		}
	}
	for revision, want := range map[int64]string{kept: "2", newest: "3"} {
		if kv, err := s.Get(ctx, "/a", revision); err != nil || string(kv.Value) != want {
			t.Errorf("get at revision %d: %+v, %v", revision, kv, err)
		}
	}
	future := (*store.FutureRevisionError)(nil)
	if err := s.Compact(ctx, newest+1); !errors.As(err, &future) {
		t.Errorf("compaction to the future: %v", err)
	}
	if _, err := s.Put(ctx, "/gone", []byte("2"), 0); err != nil {
		t.Errorf("create of a key whose deletion is compacted: %v", err)
	}
}

// testContention lets many writers increment one counter.
func testContention(ctx context.Context, t *testing.T, s store.Store) {
	const writers, rounds = 8, 25
	var wg sync.WaitGroup
	for range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range rounds {
				if err := increment(ctx, s, "/counter"); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	wg.Wait()
	kv, err := s.Get(ctx, "/counter", 0)
	if err != nil {
		t.Fatal(err)
	}
	if want := strconv.Itoa(writers * rounds); string(kv.Value) != want {
		t.Errorf("the counter is at %s after %s increments", kv.Value, want)
	}
}

func increment(ctx context.Context, s store.Store, key string) error {
	current := &store.KeyValue{}
	for {
		n, _ := strconv.Atoi(string(current.Value))
		_, err := s.Put(ctx, key, []byte(strconv.Itoa(n+1)), current.ModRevision)
		conflict := (*store.ConflictError)(nil)
		if !errors.As(err, &conflict) {
			return err
		}
		if current = conflict.Current; current == nil {
			return fmt.Errorf("a conflict with nothing: %w", err)
		}
	}
}

func testCancelled(ctx context.Context, t *testing.T, s store.Store) {
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for name, err := range everyOperation(cancelled, s) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func testClosed(ctx context.Context, t *testing.T, s store.Store) {
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, err := range everyOperation(ctx, s) {
		if !isUnavailable(err) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// everyOperation runs each operation once and returns their errors.
func everyOperation(ctx context.Context, s store.Store) map[string]error {
	errs := map[string]error{}
	_, errs["get"] = s.Get(ctx, "/a", 0)
	_, errs["list"] = s.List(ctx, "/", store.ListOptions{})
	_, errs["put"] = s.Put(ctx, "/a", []byte("1"), 0)
	_, errs["delete"] = s.Delete(ctx, "/a", 1)
	_, errs["watch"] = s.Watch(ctx, "/", 0)
	_, errs["revision"] = s.Revision(ctx)
	errs["progress"] = s.RequestProgress(ctx, "")
	errs["compact"] = s.Compact(ctx, 1)
	return errs
}
