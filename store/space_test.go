package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

const (
	smallQuota = 16 << 20
	largeValue = 1 << 20
)

// putUntil writes to key until a write has the wanted outcome, and returns the newest
// revision known to be written.
func putUntil(ctx context.Context, t *testing.T, s store.Store, key string, wanted func(error) bool) int64 {
	t.Helper()
	value := bytes.Repeat([]byte("x"), largeValue)
	var revision int64
	for {
		if err := ctx.Err(); err != nil {
			t.Fatal(err)
		}
		next, err := s.Put(ctx, key, value, revision)
		var conflict *store.ConflictError
		switch {
		case err == nil:
			revision = next
		case errors.As(err, &conflict): // a refused write may have been made
			revision = 0
			if conflict.Current != nil {
				revision = conflict.Current.ModRevision
			}
			continue
		}
		if wanted(err) {
			return revision
		}
	}
}

func isNoSpace(err error) bool {
	unavailable := (*store.UnavailableError)(nil)
	return errors.Is(err, store.ErrNoSpace) && errors.As(err, &unavailable)
}

func isNil(err error) bool { return err == nil }

// History that fills the quota is compacted, and the store accepts writes again.
func TestSpaceOfHistory(t *testing.T) {
	t.Run("ephemeral", func(t *testing.T) { testSpaceOfHistory(t, "") })
	t.Run("durable", func(t *testing.T) { testSpaceOfHistory(t, t.TempDir()) })
}

func testSpaceOfHistory(t *testing.T, dir string) {
	ctx := storetest.Context(t)
	s := storetest.StartEmbedded(t, store.EmbeddedOptions{QuotaBytes: smallQuota, DataDir: dir})
	for range 3 {
		putUntil(ctx, t, s, "/big", isNoSpace)
		if _, err := s.Get(ctx, "/big", 0); err != nil {
			t.Errorf("reading while there is no space: %v", err)
		}
		revision := putUntil(ctx, t, s, "/big", isNil)
		kv, err := s.Get(ctx, "/big", 0)
		if err != nil || kv.ModRevision != revision {
			t.Errorf("after a write of revision %d: %+v, %v", revision, kv, err)
		}
	}
}

// Regular compaction, as the apiserver does it, keeps the database below its quota.
func TestSpaceAfterCompaction(t *testing.T) {
	ctx := storetest.Context(t)
	s := storetest.StartEmbedded(t, store.EmbeddedOptions{QuotaBytes: smallQuota})
	var revision int64
	value := bytes.Repeat([]byte("x"), largeValue)
	for i := range 100 {
		var err error
		if revision, err = s.Put(ctx, "/big", value, revision); err != nil {
			t.Fatalf("write %d: %v", i, err)
		}
		if i%4 == 3 {
			if err := s.Compact(ctx, revision); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// fillWithObjects writes objects until there is no space and then deletes all but keep
// of them, which fill half of the quota. The number written before etcd notices that it
// is over its quota depends on when it commits.
func fillWithObjects(ctx context.Context, t *testing.T, s store.Store) (keep int) {
	t.Helper()
	keep = smallQuota / largeValue / 2
	value := bytes.Repeat([]byte("x"), largeValue)
	refused := 0
	for i := 0; refused < 5; i++ {
		if _, err := s.Put(ctx, fmt.Sprintf("/%03d", i), value, 0); err != nil {
			if !isNoSpace(err) {
				t.Fatal(err)
			}
			refused++
		}
		if i > 1000 {
			t.Fatal("there is no end of space")
		}
	}
	list, err := s.List(ctx, "/", store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range list.KeyValues[keep:] {
		if _, err := s.Delete(ctx, kv.Key, kv.ModRevision); err != nil {
			t.Errorf("deleting while there is no space: %v", err)
		}
	}
	return keep
}

// Objects that fill the quota are kept. Deleting some of them makes room for others.
func TestSpaceOfObjects(t *testing.T) {
	t.Run("ephemeral", func(t *testing.T) { testSpaceOfObjects(t, "") })
	t.Run("durable", func(t *testing.T) { testSpaceOfObjects(t, t.TempDir()) })
}

func testSpaceOfObjects(t *testing.T, dir string) {
	ctx := storetest.Context(t)
	s := storetest.StartEmbedded(t, store.EmbeddedOptions{QuotaBytes: smallQuota, DataDir: dir})
	keep := fillWithObjects(ctx, t, s)
	putUntil(ctx, t, s, "/new", isNil)
	after, err := s.List(ctx, "/", store.ListOptions{KeysOnly: true})
	if err != nil || int(after.Count) != keep+1 {
		t.Errorf("there are %d keys and not %d: %v", after.Count, keep+1, err)
	}
}

// A compaction between the deletions and the next write does not hide the free space.
func TestSpaceOfObjectsAfterCompaction(t *testing.T) {
	t.Run("ephemeral", func(t *testing.T) { testSpaceOfObjectsAfterCompaction(t, "") })
	t.Run("durable", func(t *testing.T) { testSpaceOfObjectsAfterCompaction(t, t.TempDir()) })
}

func testSpaceOfObjectsAfterCompaction(t *testing.T, dir string) {
	ctx := storetest.Context(t)
	s := storetest.StartEmbedded(t, store.EmbeddedOptions{QuotaBytes: smallQuota, DataDir: dir})
	fillWithObjects(ctx, t, s)
	list, err := s.List(ctx, "/", store.ListOptions{KeysOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(ctx, list.Revision); err != nil {
		t.Fatal(err)
	}
	putUntil(ctx, t, s, "/new", isNil)
}

// A store that was closed without space reclaims some when it is opened again.
func TestSpaceAfterRestart(t *testing.T) {
	ctx, dir := storetest.Context(t), t.TempDir()
	s, err := store.StartEmbedded(ctx, store.EmbeddedOptions{DataDir: dir, QuotaBytes: smallQuota})
	if err != nil {
		t.Fatal(err)
	}
	putUntil(ctx, t, s, "/big", isNoSpace)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	putUntil(ctx, t, storetest.StartEmbedded(t, store.EmbeddedOptions{DataDir: dir, QuotaBytes: smallQuota}), "/big", isNil)
}
