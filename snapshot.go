package minikcm

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

// etcdDir returns the directory of the embedded etcd within a data directory.
func etcdDir(dataDir string) string { return filepath.Join(dataDir, "etcd") }

// Snapshot writes a snapshot of the running cluster's store in etcd's format, which
// Options.Storage.Snapshot, RestoreSnapshot and etcd's tools read.
func (c *Cluster) Snapshot(ctx context.Context, w io.Writer) error {
	c.heartbeats.LookAtAll(ctx)
	return c.snapshots.Snapshot(ctx, w)
}

// SnapshotDataDir writes a snapshot of the data directory of a stopped cluster. The error
// is a *store.InUseError if the cluster runs.
func SnapshotDataDir(ctx context.Context, dataDir string, w io.Writer) (err error) {
	dir := etcdDir(dataDir)
	if _, err := os.Stat(filepath.Join(dir, "member")); errors.Is(err, fs.ErrNotExist) {
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
