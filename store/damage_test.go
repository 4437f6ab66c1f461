package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"minikcm.dev/minikcm/store"
)

// fillDataDir makes a data directory with a few revisions.
func fillDataDir(t *testing.T, dir string) {
	t.Helper()
	ctx := testContext(t)
	s, err := store.StartEmbedded(ctx, store.EmbeddedOptions{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if _, err := s.Put(ctx, fmt.Sprintf("/a/%d", i), bytes.Repeat([]byte("x"), 1000), 0); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// fileSums returns the contents of a directory, but for lock files.
func fileSums(t *testing.T, dir string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		content, err := os.ReadFile(path)
		sums[path] = fmt.Sprintf("%d bytes, %x", len(content), sha256.Sum256(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// glob returns the only file that matches.
func glob(t *testing.T, pattern string) string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) != 1 {
		t.Fatalf("files like %s: %v, %v", pattern, paths, err)
	}
	return paths[0]
}

func overwrite(t *testing.T, path string, offset int64, content string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(content), offset); err != nil {
		t.Fatal(err)
	}
}

func TestEmbeddedDamage(t *testing.T) {
	database := func(dir string) string { return filepath.Join(dir, "member", "snap", "db") }
	log := func(t *testing.T, dir string) string { return glob(t, filepath.Join(dir, "member", "wal", "*.wal")) }
	table := []struct {
		name   string
		damage func(t *testing.T, dir string)
		want   string
	}{
		{"database of garbage", func(t *testing.T, dir string) {
			overwrite(t, database(dir), 0, strings.Repeat("garbage ", 8<<10))
		}, "damaged"},
		{"empty database", func(t *testing.T, dir string) {
			if err := os.Truncate(database(dir), 0); err != nil {
				t.Fatal(err)
			}
		}, "damaged"},
		{"truncated database", func(t *testing.T, dir string) {
			if err := os.Truncate(database(dir), 12<<10); err != nil {
				t.Fatal(err)
			}
		}, "damaged"},
		{"missing database", func(t *testing.T, dir string) {
			if err := os.Remove(database(dir)); err != nil {
				t.Fatal(err)
			}
		}, "damaged"},
		{"log of garbage", func(t *testing.T, dir string) {
			overwrite(t, log(t, dir), 0, strings.Repeat("garbage ", 100))
		}, "damaged"},
		{"flipped bits in the log", func(t *testing.T, dir string) {
			overwrite(t, log(t, dir), 20_000, "flipped")
		}, "damaged"},
		{"missing log", func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "member", "wal")); err != nil {
				t.Fatal(err)
			}
		}, "damaged"},
		{"empty log", func(t *testing.T, dir string) {
			if err := os.Truncate(log(t, dir), 0); err != nil {
				t.Fatal(err)
			}
		}, "damaged"},
	}
	for _, test := range table {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			fillDataDir(t, dir)
			test.damage(t, dir)
			before := fileSums(t, dir)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			s, err := store.StartEmbedded(ctx, store.EmbeddedOptions{DataDir: dir})
			if err == nil {
				list, listErr := s.List(ctx, "", store.ListOptions{KeysOnly: true})
				t.Errorf("no error; %d keys, %v", list.Count, listErr)
				_ = s.Close()
				return
			}
			t.Log(err)
			if !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error does not say that %s is %s: %v", dir, test.want, err)
			}
			if diff := cmp.Diff(before, fileSums(t, dir)); diff != "" {
				t.Errorf("the directory has been changed: %s", diff)
			}
		})
	}
}
