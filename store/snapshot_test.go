package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

// takeSnapshot saves a snapshot of s and returns its file.
func takeSnapshot(t *testing.T, s store.Snapshotter) (string, store.SnapshotStatus) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "snapshot.db")
	status, err := store.SaveSnapshot(path, func(w io.Writer) error { return s.Snapshot(storetest.Context(t), w) })
	if err != nil {
		t.Fatal(err)
	}
	return path, status
}

// restore makes a data directory from a snapshot.
func restore(t *testing.T, path string, bump uint64) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "restored")
	if err := store.RestoreSnapshot(storetest.Context(t), store.RestoreOptions{Snapshot: path, DataDir: dir, RevisionBump: bump}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func mustPut(t *testing.T, s store.Store, key, value string, expected int64) int64 {
	t.Helper()
	revision, err := s.Put(storetest.Context(t), key, []byte(value), expected)
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

func mustList(t *testing.T, s store.Store, revision int64) *store.ListResult {
	t.Helper()
	list, err := s.List(storetest.Context(t), "/", store.ListOptions{Revision: revision})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// fill writes 100 keys, writes some of them again, and deletes one.
func fill(t *testing.T, s store.Store) {
	t.Helper()
	for i := range 100 {
		revision := mustPut(t, s, fmt.Sprintf("/%02d", i), strings.Repeat("x", 1000+i), 0)
		if i%10 == 0 {
			mustPut(t, s, fmt.Sprintf("/%02d", i), "again", revision)
		}
	}
	list := mustList(t, s, 0)
	if _, err := s.Delete(storetest.Context(t), "/50", list.KeyValues[50].ModRevision); err != nil {
		t.Fatal(err)
	}
}

// Each store can start from the snapshot of each other one: keys, values, revisions and
// history are the same.
func TestSnapshotRoundTrip(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) interface {
		store.Store
		store.Snapshotter
	}{
		"embedded": func(t *testing.T) interface {
			store.Store
			store.Snapshotter
		} {
			return storetest.StartEmbedded(t, store.EmbeddedOptions{})
		},
		"embedded with a data directory": func(t *testing.T) interface {
			store.Store
			store.Snapshotter
		} {
			return storetest.StartEmbedded(t, store.EmbeddedOptions{DataDir: t.TempDir()})
		},
		"etcd": func(t *testing.T) interface {
			store.Store
			store.Snapshotter
		} {
			return storetest.DialEtcd(t, store.EtcdOptions{Endpoints: []string{storetest.StartEtcd(t, storetest.EtcdOptions{})}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			fill(t, s)
			want := mustList(t, s, 0)
			path, status := takeSnapshot(t, s)
			if status.Revision != want.Revision || status.TotalKeys != 99 || status.TotalSize == 0 {
				t.Errorf("the snapshot holds %+v, want 99 keys at revision %d", status, want.Revision)
			}
			mustPut(t, s, "/later", "not in it", 0)
			for name, opts := range map[string]store.EmbeddedOptions{
				"data directory": {DataDir: restore(t, path, 0)},
				"ephemeral":      {Snapshot: path},
			} {
				again := storetest.StartEmbedded(t, opts)
				if diff := cmp.Diff(want, mustList(t, again, 0)); diff != "" {
					t.Errorf("%s: (-want +got):\n%s", name, diff)
				}
				if diff := cmp.Diff(mustList(t, s, 20), mustList(t, again, 20)); diff != "" {
					t.Errorf("%s: at revision 20 (-want +got):\n%s", name, diff)
				}
				if revision := mustPut(t, again, "/new", "", 0); revision != want.Revision+1 {
					t.Errorf("%s: the first write has revision %d, want %d", name, revision, want.Revision+1)
				}
			}
			// An etcd that is not ours accepts the directory too.
			foreign := storetest.DialEtcd(t, store.EtcdOptions{Endpoints: []string{storetest.StartEtcd(t, storetest.EtcdOptions{DataDir: restore(t, path, 0), Name: "minikcm"})}})
			if diff := cmp.Diff(want, mustList(t, foreign, 0)); diff != "" {
				t.Errorf("another etcd: (-want +got):\n%s", diff)
			}
		})
	}
}

// The next write follows the raised revision, and older revisions are compacted.
func TestRestoreRaisesRevision(t *testing.T) {
	s := storetest.StartEmbedded(t, store.EmbeddedOptions{})
	fill(t, s)
	want := mustList(t, s, 0)
	path, _ := takeSnapshot(t, s)
	again := storetest.StartEmbedded(t, store.EmbeddedOptions{DataDir: restore(t, path, 1_000_000)})
	got := mustList(t, again, 0)
	if diff := cmp.Diff(want.KeyValues, got.KeyValues); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Revision != want.Revision+1_000_000 {
		t.Errorf("the revision is %d, want %d", got.Revision, want.Revision+1_000_000)
	}
	if revision := mustPut(t, again, "/new", "", 0); revision <= got.Revision {
		t.Errorf("the first write has revision %d, after %d", revision, got.Revision)
	}
	if w, err := again.Watch(storetest.Context(t), "/", want.Revision); err == nil {
		for range w.Batches() {
		}
		t.Errorf("a watch from before is accepted, and ends with %v", w.Err())
	}
}

// A snapshot taken during writes is the state at one revision.
func TestSnapshotUnderLoad(t *testing.T) {
	s := storetest.StartEmbedded(t, store.EmbeddedOptions{})
	first := mustPut(t, s, "/0", "", 0)
	ctx, stop := context.WithCancel(storetest.Context(t))
	done := make(chan error, 1)
	go func() {
		for i := 1; ctx.Err() == nil; i++ {
			if _, err := s.Put(storetest.Context(t), fmt.Sprintf("/%d", i), nil, 0); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for range 5 {
		before, err := s.Revision(storetest.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		_, status := takeSnapshot(t, s)
		if status.Revision < before || int64(status.TotalKeys) != status.Revision-first+1 {
			t.Errorf("the snapshot after revision %d holds %d keys at revision %d", before, status.TotalKeys, status.Revision)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// An incomplete or damaged snapshot is refused, and the attempt leaves no files.
func TestDamagedSnapshot(t *testing.T) {
	s := storetest.StartEmbedded(t, store.EmbeddedOptions{})
	fill(t, s)
	path, _ := takeSnapshot(t, s)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"empty":                 {nil, "not a complete snapshot"},
		"text":                  {[]byte("hello"), "not a complete snapshot"},
		"hash only":             {whole[len(whole)-32:], "not a complete snapshot"},
		"cut":                   {whole[:len(whole)/2], "not a complete snapshot"},
		"no hash":               {whole[:len(whole)-32], "not a complete snapshot"},
		"bit flipped":           {append(append(bytes.Clone(whole[:9000]), whole[9000]^1), whole[9001:]...), "is damaged: its SHA-256 is"},
		"sound hash of garbage": {withHash(bytes.Repeat([]byte("garbage "), 8<<10)), "not a valid snapshot"},
		"sound hash of a part":  {withHash(whole[:8192]), "not a valid snapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "damaged.db")
			if err := os.WriteFile(file, test.data, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := store.ReadSnapshotStatus(file); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("status: %v", err)
			}
			err := store.RestoreSnapshot(storetest.Context(t), store.RestoreOptions{Snapshot: file, DataDir: filepath.Join(dir, "data")})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("restore: %v", err)
			}
			_, err = store.SaveSnapshot(filepath.Join(dir, "new.db"), func(w io.Writer) error {
				_, err := w.Write(test.data)
				return err
			})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("save: %v", err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("files are left: %v, %v", left, err)
			}
		})
	}
}

// Existing files are never replaced.
func TestSnapshotReplacesNothing(t *testing.T) {
	s := storetest.StartEmbedded(t, store.EmbeddedOptions{})
	path, _ := takeSnapshot(t, s)
	if _, err := store.SaveSnapshot(path, func(w io.Writer) error { return s.Snapshot(storetest.Context(t), w) }); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("saving over a snapshot: %v", err)
	}
	if err := store.RestoreSnapshot(storetest.Context(t), store.RestoreOptions{Snapshot: path, DataDir: filepath.Dir(path)}); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("restoring to a directory with files: %v", err)
	}
	if err := store.RestoreSnapshot(storetest.Context(t), store.RestoreOptions{Snapshot: path, DataDir: t.TempDir()}); err != nil {
		t.Errorf("restoring to an empty directory: %v", err)
	}
}

// withHash appends a hash to data, so that it looks like a snapshot.
func withHash(data []byte) []byte {
	sum := sha256.Sum256(data)
	return append(bytes.Clone(data), sum[:]...)
}

// A store with a raised first revision is empty, and watches from earlier revisions end
// as compacted.
func TestRevisionBump(t *testing.T) {
	const bump = 1 << 30
	s, err := store.StartEmbedded(storetest.Context(t), store.EmbeddedOptions{RevisionBump: bump})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if revision, err := s.Revision(storetest.Context(t)); err != nil || revision < bump {
		t.Errorf("the first revision is %d: %v", revision, err)
	}
	list, err := s.List(storetest.Context(t), "", store.ListOptions{})
	if err != nil || len(list.KeyValues) > 0 {
		t.Errorf("it begins with %v: %v", list, err)
	}
	var compacted *store.CompactedError
	w, err := s.Watch(storetest.Context(t), "", 7)
	if err == nil {
		for batch := range w.Batches() {
			t.Errorf("a watch from an earlier revision delivers %+v", batch)
		}
		err = w.Err()
	}
	if !errors.As(err, &compacted) {
		t.Errorf("a watch from an earlier revision: %v", err)
	}
	if _, err := s.Put(storetest.Context(t), "k", []byte("v"), 0); err != nil {
		t.Error(err)
	}
	if _, err := store.StartEmbedded(storetest.Context(t), store.EmbeddedOptions{RevisionBump: bump, DataDir: t.TempDir()}); err == nil {
		t.Error("a data directory and a raised revision are accepted together")
	}
}

// A start that is interrupted while it makes its initial content fails, and leaves no files.
func TestRevisionBumpIsInterrupted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(storetest.Context(t))
	cancel()
	if s, err := store.StartEmbedded(ctx, store.EmbeddedOptions{RevisionBump: 5}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", s, err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
