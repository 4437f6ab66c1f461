package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"minikcm.dev/minikcm/store"
)

// SnapshotDataDir writes a snapshot of the data directory of a stopped cluster. The error
// is a *store.InUseError if the cluster runs.
func SnapshotDataDir(ctx context.Context, dataDir string, w io.Writer) (err error) {
	dir := etcdDir(dataDir)
	if !HasState(dataDir) {
		return fmt.Errorf("%s is no data directory: there is no %s", dataDir, filepath.Join(dir, "member"))
	}
	embedded, err := store.StartEmbedded(ctx, store.EmbeddedOptions{DataDir: dir})
	if err != nil {
		return adviseRepair(dataDir, err)
	}
	defer func() { err = errors.Join(err, embedded.Close()) }()
	return embedded.Snapshot(ctx, w)
}

// RestoreSnapshot creates a data directory from a snapshot: a cluster that is started on
// it has the same objects. A snapshot contains no certificates; dataDir keeps the certificates
// that it has. revisionBump is as in store.RestoreOptions.
func RestoreSnapshot(ctx context.Context, snapshot, dataDir string, revisionBump uint64) error {
	return store.RestoreSnapshot(ctx, store.RestoreOptions{Snapshot: snapshot, DataDir: etcdDir(dataDir), RevisionBump: revisionBump})
}

// HasState reports whether a data directory has the store of a cluster, or may have.
func HasState(dataDir string) bool {
	_, err := os.Stat(filepath.Join(etcdDir(dataDir), "member"))
	return !errors.Is(err, fs.ErrNotExist)
}
