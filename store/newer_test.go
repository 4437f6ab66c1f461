package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

// setSchema writes settings into the meta bucket of a database.
func setSchema(t *testing.T, path string, settings map[string]string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for key, value := range settings {
			if err := tx.Bucket([]byte("meta")).Put([]byte(key), []byte(value)); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// withSchema returns a copy of a snapshot with these settings, and a valid hash.
func withSchema(t *testing.T, snapshot string, settings map[string]string) string {
	t.Helper()
	data, err := os.ReadFile(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "edited.db")
	if err := os.WriteFile(path, data[:len(data)-32], 0o600); err != nil {
		t.Fatal(err)
	}
	setSchema(t, path, settings)
	if data, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, withHash(data), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantNewer fails the test unless err is a NewerError that names a remedy.
func wantNewer(t *testing.T, part string, err error) {
	t.Helper()
	newer, broken := (*store.NewerError)(nil), (*store.DamagedError)(nil)
	if !errors.As(err, &newer) || newer.Part != part || newer.Version != "3.99.0" || errors.As(err, &broken) {
		t.Fatalf("want a NewerError about a %s of etcd 3.99.0, got %v", part, err)
	}
	if !strings.Contains(err.Error(), "etcdctl downgrade enable 3.") {
		t.Errorf("the error does not say what to do: %v", err)
	}
}

// TestNewerEtcd starts from the files of an etcd with a later schema, which may have settings
// that this one does not know.
func TestNewerEtcd(t *testing.T) {
	s := storetest.StartEmbedded(t, store.EmbeddedOptions{})
	fill(t, s)
	path, _ := takeSnapshot(t, s)
	later := map[string]string{"storageVersion": "3.99.0", "aSetting": "x"}
	t.Run("snapshot", func(t *testing.T) {
		edited := withSchema(t, path, later)
		status, err := store.ReadSnapshotStatus(edited)
		if err != nil || status.Version != "3.99.0" || status.TotalKeys != 99 {
			t.Errorf("the status of a snapshot of a newer etcd: %+v, %v", status, err)
		}
		dir := filepath.Join(t.TempDir(), "data")
		wantNewer(t, "snapshot", store.RestoreSnapshot(storetest.Context(t), store.RestoreOptions{Snapshot: edited, DataDir: dir}))
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a directory was made: %v", err)
		}
		_, err = store.StartEmbedded(storetest.Context(t), store.EmbeddedOptions{Snapshot: edited})
		wantNewer(t, "snapshot", err)
	})
	t.Run("data directory", func(t *testing.T) {
		dir := restore(t, path, 0)
		setSchema(t, filepath.Join(dir, "member", "snap", "db"), later)
		_, err := store.StartEmbedded(storetest.Context(t), store.EmbeddedOptions{DataDir: dir})
		wantNewer(t, "data directory", err)
	})
	t.Run("unknown setting of this version", func(t *testing.T) {
		_, err := store.ReadSnapshotStatus(withSchema(t, path, map[string]string{"aSetting": "x"}))
		if broken := (*store.DamagedError)(nil); !errors.As(err, &broken) || !strings.Contains(err.Error(), `etcd has no setting "aSetting"`) {
			t.Errorf("want a DamagedError, got %v", err)
		}
	})
	t.Run("no version", func(t *testing.T) {
		_, err := store.ReadSnapshotStatus(withSchema(t, path, map[string]string{"storageVersion": "three"}))
		if broken := (*store.DamagedError)(nil); !errors.As(err, &broken) || !strings.Contains(err.Error(), "is no version") {
			t.Errorf("want a DamagedError, got %v", err)
		}
	})
}
