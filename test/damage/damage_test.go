package damage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.uber.org/zap"

	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

// fillDataDir makes a data directory with a few revisions.
func fillDataDir(t *testing.T, dir string) {
	t.Helper()
	addToDataDir(t, dir, "/a/")
}

func addToDataDir(t *testing.T, dir, prefix string) {
	t.Helper()
	ctx := storetest.Context(t)
	s, err := store.StartEmbedded(ctx, store.EmbeddedOptions{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if _, err := s.Put(ctx, fmt.Sprintf("%s%d", prefix, i), bytes.Repeat([]byte("x"), 1000), 0); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// fileSums returns the contents of a directory's files, except lock files.
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

// recordEnds returns the offsets at which the records of a log file end.
func recordEnds(t *testing.T, path string) []int64 {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	decoder := wal.NewDecoder(fileutil.NewFileReader(file))
	var ends []int64
	for record := new(walpb.Record); decoder.Decode(record) == nil; ends = append(ends, decoder.LastOffset()) {
		if record.GetType() == wal.CrcType {
			decoder.UpdateCRC(record.GetCrc())
		}
	}
	return ends
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
		{"log cut within a record", func(t *testing.T, dir string) {
			if err := os.Truncate(log(t, dir), 20_001); err != nil {
				t.Fatal(err)
			}
		}, "ends within a record"},
		{"log cut between two records", func(t *testing.T, dir string) {
			path := log(t, dir)
			if err := os.Truncate(path, recordEnds(t, path)[20]); err != nil {
				t.Fatal(err)
			}
		}, "end is missing"},
		{"zeros at the log's end", func(t *testing.T, dir string) {
			path := log(t, dir)
			at := recordEnds(t, path)[20]
			overwrite(t, path, at, strings.Repeat("\x00", 64<<10))
		}, "end is missing"},
		{"length of a record in the log", func(t *testing.T, dir string) {
			path := log(t, dir)
			overwrite(t, path, recordEnds(t, path)[20]+2, "\x77") // beyond the file's end
		}, "a record of"},
		{"older log", func(t *testing.T, dir string) {
			path := log(t, dir)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			addToDataDir(t, dir, "/b/")
			if err := os.WriteFile(path, before, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "end is missing"},
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

func TestEmbeddedInUse(t *testing.T) {
	for name, hold := range map[string]func(*testing.T, string) io.Closer{
		"by a store": func(t *testing.T, dir string) io.Closer {
			lock, err := fileutil.TryLockFile(filepath.Join(dir, "minikcm.lock"), os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			return lock
		},
		"by an etcd": func(t *testing.T, dir string) io.Closer {
			db, err := bolt.Open(filepath.Join(dir, "member", "snap", "db"), 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			return db
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			fillDataDir(t, dir)
			defer hold(t, dir).Close()
			_, err := store.StartEmbedded(storetest.Context(t), store.EmbeddedOptions{DataDir: dir})
			if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "in use by another process") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestEmbeddedAfterCrash starts a store on directories as a crash may leave them.
func TestEmbeddedAfterCrash(t *testing.T) {
	ctx := storetest.Context(t)
	t.Run("while writing", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "data")
		fillDataDir(t, dir)
		// The last record of the log is not in the database yet, and its last sector has
		// not been written.
		database := filepath.Join(dir, "member", "snap", "db")
		before, err := os.ReadFile(database)
		if err != nil {
			t.Fatal(err)
		}
		addToDataDir(t, dir, "/b/")
		if err := os.WriteFile(database, before, 0o600); err != nil {
			t.Fatal(err)
		}
		log := glob(t, filepath.Join(dir, "member", "wal", "*.wal"))
		content, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		end := len(bytes.TrimRight(content, "\x00"))
		start := (end - 100) / 512 * 512
		overwrite(t, log, int64(start), strings.Repeat("\x00", end-start))
		s := storetest.StartEmbedded(t, store.EmbeddedOptions{DataDir: dir})
		if list, err := s.List(ctx, "/", store.ListOptions{}); err != nil || list.Count != 99 {
			t.Errorf("after a crash: %d keys of 99, %v", list.Count, err)
		}
		if _, err := s.Put(ctx, "/c", []byte("1"), 0); err != nil {
			t.Error(err)
		}
	})
	t.Run("while making the directory", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.MkdirAll(filepath.Join(dir, "member", "snap"), 0o700); err != nil {
			t.Fatal(err)
		}
		db, err := bolt.Open(filepath.Join(dir, "member", "snap", "db"), 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		s := storetest.StartEmbedded(t, store.EmbeddedOptions{DataDir: dir})
		if _, err := s.Put(ctx, "/b", []byte("1"), 0); err != nil {
			t.Error(err)
		}
	})
}

// TestEmbeddedInterrupted opens a data directory whose first process ended before etcd wrote
// the first entry of its log.
func TestEmbeddedInterrupted(t *testing.T) {
	for name, buckets := range map[string][]string{"no bucket": nil, "first buckets": {"members", "meta"}, "all buckets": {"members", "meta", "key"}} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if err := os.MkdirAll(filepath.Join(dir, "member", "snap"), 0o700); err != nil {
				t.Fatal(err)
			}
			db, err := bolt.Open(filepath.Join(dir, "member", "snap", "db"), 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			err = db.Update(func(tx *bolt.Tx) error {
				for _, bucket := range buckets {
					if _, err := tx.CreateBucket([]byte(bucket)); err != nil {
						return err
					}
				}
				return nil
			})
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			log, err := wal.Create(zap.NewNop(), filepath.Join(dir, "member", "wal"), nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			addToDataDir(t, dir, "/a/")
		})
	}
}

// TestEmbeddedOfStranger opens the data directory of an etcd that minikcm did not
// start.
func TestEmbeddedOfStranger(t *testing.T) {
	ctx, dir := storetest.Context(t), filepath.Join(t.TempDir(), "data")
	t.Run("etcd", func(t *testing.T) {
		s := storetest.DialEtcd(t, store.EtcdOptions{Endpoints: []string{storetest.StartEtcd(t, storetest.EtcdOptions{DataDir: dir})}})
		if _, err := s.Put(ctx, "/a", []byte("1"), 0); err != nil {
			t.Fatal(err)
		}
	})
	s := storetest.StartEmbedded(t, store.EmbeddedOptions{DataDir: dir})
	if kv, err := s.Get(ctx, "/a", 0); err != nil || string(kv.Value) != "1" {
		t.Errorf("got %+v, %v", kv, err)
	}
	if _, err := s.Put(ctx, "/b", []byte("1"), 0); err != nil {
		t.Error(err)
	}
}

// TestEmbeddedOfCluster opens the data directory of a member of a larger cluster, which
// cannot work alone.
func TestEmbeddedOfCluster(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	t.Run("etcd", func(t *testing.T) {
		client, err := clientv3.New(clientv3.Config{
			Endpoints: []string{storetest.StartEtcd(t, storetest.EtcdOptions{DataDir: dir})}, Logger: zap.NewNop(),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if _, err := client.MemberAdd(storetest.Context(t), []string{"http://127.0.0.1:1"}); err != nil {
			t.Fatal(err)
		}
	})
	_, err := store.StartEmbedded(storetest.Context(t), store.EmbeddedOptions{DataDir: dir})
	if err == nil || !strings.Contains(err.Error(), "cluster with 2 members") {
		t.Errorf("got %v", err)
	}
}
