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

// etcdDir is where a data directory has the embedded etcd's.
func etcdDir(dataDir string) string { return filepath.Join(dataDir, "etcd") }

// Snapshot writes down the state of the cluster's store, in etcd's own format, while
// the cluster goes on. Options.Snapshot, RestoreSnapshot and etcd's tools take it.
func (c *Cluster) Snapshot(ctx context.Context, w io.Writer) error {
	return c.snapshots.Snapshot(ctx, w)
}

// SnapshotDataDir writes down what the data directory of a cluster that does not run
// holds. It is a *store.InUseError if the cluster runs.
func SnapshotDataDir(ctx context.Context, dataDir string, w io.Writer) (err error) {
	dir := etcdDir(dataDir)
	if _, err := os.Stat(filepath.Join(dir, "member")); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is no data directory: there is no %s", dataDir, filepath.Join(dir, "member"))
	}
	embedded, err := store.StartEmbedded(ctx, store.EmbeddedOptions{DataDir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, embedded.Close()) }()
	return embedded.Snapshot(ctx, w)
}

// RestoreSnapshot makes a data directory of a snapshot: a cluster that is started on
// it has the same objects. Certificates are not in a snapshot: those of dataDir, if
// it has any, are kept. revisionBump is that of store.RestoreOptions.
func RestoreSnapshot(ctx context.Context, snapshot, dataDir string, revisionBump uint64) error {
	return store.RestoreSnapshot(ctx, store.RestoreOptions{Snapshot: snapshot, DataDir: etcdDir(dataDir), RevisionBump: revisionBump})
}
