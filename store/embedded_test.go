package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

// TestEmbeddedLeavesNothing also reports how long a start takes.
func TestEmbeddedLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for range 5 {
		elapsed := clock.Stopwatch()
		s, err := store.StartEmbedded(storetest.Context(t), store.EmbeddedOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("ready after %v", elapsed())
		if _, err := s.Put(storetest.Context(t), "/a", []byte("1"), 0); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
			t.Errorf("files left after Close: %v, %v", left, err)
		}
	}
}

func TestEmbeddedKeepsDataDir(t *testing.T) {
	ctx, dir := storetest.Context(t), filepath.Join(t.TempDir(), "data")
	s, err := store.StartEmbedded(ctx, store.EmbeddedOptions{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	revision, err := s.Put(ctx, "/a", []byte("1"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.StartEmbedded(ctx, store.EmbeddedOptions{DataDir: dir}); err == nil {
		t.Error("two stores on one data directory")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(ctx, "/a", 0); err == nil {
		t.Error("a closed store answers")
	} else if unavailable := (*store.UnavailableError)(nil); !errors.As(err, &unavailable) {
		t.Errorf("error after Close: %v", err)
	}
	s = storetest.StartEmbedded(t, store.EmbeddedOptions{DataDir: dir})
	kv, err := s.Get(ctx, "/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	if string(kv.Value) != "1" || kv.ModRevision != revision {
		t.Errorf("after a restart: %+v", kv)
	}
}

func TestEmbeddedWatch(t *testing.T) {
	ctx := storetest.Context(t)
	s := storetest.StartEmbedded(t, store.EmbeddedOptions{})
	w, err := s.Watch(ctx, "/a/", 0)
	if err != nil {
		t.Fatal(err)
	}
	revision, err := s.Put(ctx, "/a/1", []byte("1"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if batch := <-w.Batches(); len(batch.Events) != 1 || batch.Revision != revision {
		t.Errorf("got %+v", batch)
	}
	if revision, err = s.Delete(ctx, "/a/1", revision); err != nil {
		t.Fatal(err)
	}
	if batch := <-w.Batches(); len(batch.Events) != 1 || batch.Revision != revision || batch.Events[0].Type != store.Delete {
		t.Errorf("got %+v", batch)
	}
	if revision, err = s.Put(ctx, "/b/1", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	if err := s.RequestProgress(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if batch := <-w.Batches(); len(batch.Events) != 0 || batch.Revision != revision {
		t.Errorf("got %+v", batch)
	}
}
