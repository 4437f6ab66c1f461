package minikcm

import (
	"context"
	"io"

	"minikcm.dev/minikcm/internal/assembly/storage"
)

// SnapshotDataDir writes a snapshot of the data directory of a stopped cluster. The error
// is a *store.InUseError if the cluster runs.
func SnapshotDataDir(ctx context.Context, dataDir string, w io.Writer) (err error) {
	return storage.SnapshotDataDir(ctx, dataDir, w)
}

// RestoreSnapshot creates a data directory from a snapshot: a cluster that is started on
// it has the same objects. A snapshot contains no certificates; dataDir keeps the certificates
// that it has. revisionBump is as in store.RestoreOptions.
func RestoreSnapshot(ctx context.Context, snapshot, dataDir string, revisionBump uint64) error {
	return storage.RestoreSnapshot(ctx, snapshot, dataDir, revisionBump)
}

// CheckSnapshot reads all of a snapshot, or of the data directory of a stopped cluster or
// etcd, and reports the damaged parts, down to the stored objects. It changes nothing. The
// error is for a path that cannot be checked.
func CheckSnapshot(path string) (*CheckReport, error) { return storage.Check(path) }

// RepairSnapshot makes a new data directory from the readable parts of a damaged snapshot or
// data directory, which is not changed. The certificates of a data directory are copied.
func RepairSnapshot(ctx context.Context, path, dataDir string) (*RepairReport, error) {
	return storage.Repair(ctx, path, dataDir)
}

// StoreFailedError is the error of a cluster that stopped because its store failed: the
// disk is full or failed, or another program changed its files. All acknowledged writes
// are in the data directory, if there is one.
type StoreFailedError = storage.FailedError
