package store

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
	"runtime/debug"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
)

// SnapshotStatus describes the content of a snapshot.
type SnapshotStatus struct {
	// Hash is the CRC-32 (Castagnoli) of all keys and values, as etcdutl computes it.
	Hash uint32 `json:"hash"`
	// Revision is the newest revision.
	Revision int64 `json:"revision"`
	// TotalKeys is the number of keys that exist at that revision.
	TotalKeys int `json:"totalKey"`
	// TotalSize is the size of the database, in bytes.
	TotalSize int64 `json:"totalSize"`
	// Version is the etcd version of the database's schema; empty before 3.6.
	Version string `json:"version"`
}

// SaveSnapshot creates the file path with the content that fill writes, and returns its
// status. The file appears under its name only once it is complete, its hash is
// verified and it is synced to disk. An existing file is never replaced.
func SaveSnapshot(path string, fill func(io.Writer) error) (SnapshotStatus, error) {
	if _, err := os.Lstat(path); err == nil {
		return SnapshotStatus{}, fmt.Errorf("%s exists already: choose another name", path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return SnapshotStatus{}, fmt.Errorf("looking for an earlier snapshot: %w", err)
	}
	part, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.part")
	if err != nil {
		return SnapshotStatus{}, fmt.Errorf("making a file for the snapshot: %w", err)
	}
	defer os.Remove(part.Name())
	err = fill(part)
	if err == nil {
		err = part.Sync()
	}
	if closeErr := part.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return SnapshotStatus{}, fmt.Errorf("writing the snapshot to %s: %w", path, err)
	}
	status, err := ReadSnapshotStatus(part.Name())
	if err != nil {
		return SnapshotStatus{}, fmt.Errorf("the snapshot did not arrive whole: %w", err)
	}
	// Unlike a rename, a link never replaces a file.
	if err := os.Link(part.Name(), path); err != nil {
		return SnapshotStatus{}, fmt.Errorf("giving the snapshot its name: %w", err)
	}
	return status, nil
}

// ReadSnapshotStatus verifies the snapshot's hash and every page of its database, and
// returns its status. It does not change the file.
func ReadSnapshotStatus(path string) (SnapshotStatus, error) {
	if err := verifySnapshot(path); err != nil {
		return SnapshotStatus{}, err
	}
	var status snapshot.Status
	err := contained(func(logger *zap.Logger) (err error) {
		// etcd's check below ends the process if pages are missing.
		if _, err = verifyDatabase(path); err != nil {
			return err
		}
		status, err = snapshot.NewV3(logger).Status(path)
		return err
	})
	if err != nil {
		return SnapshotStatus{}, fmt.Errorf("%s is not a valid snapshot: %w", path, err)
	}
	return SnapshotStatus{
		Hash: status.Hash, Revision: status.Revision, TotalKeys: status.TotalKey, TotalSize: status.TotalSize, Version: status.Version,
	}, nil
}

// sectorSize divides the size of every database, for any page size.
const sectorSize = 512

// verifySnapshot checks the hash at the end of a snapshot.
func verifySnapshot(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening the snapshot: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("looking at the snapshot: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a snapshot: it is not a regular file", path)
	}
	database := info.Size() - sha256.Size
	if database <= 0 || database%sectorSize != 0 {
		return fmt.Errorf("%s is not a complete snapshot: no hash follows its database (if it is the file member/snap/db of a data directory, save a snapshot of that directory with --data-dir)", path)
	}
	hash := sha256.New()
	if _, err := io.CopyN(hash, file, database); err != nil {
		return fmt.Errorf("reading the snapshot %s: %w", path, err)
	}
	want, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("reading the snapshot %s: %w", path, err)
	}
	if !bytes.Equal(hash.Sum(nil), want) {
		return damaged("snapshot", path, fmt.Errorf("its SHA-256 is %x, but %x is recorded", hash.Sum(nil), want))
	}
	return nil
}

// RestoreOptions configure RestoreSnapshot.
type RestoreOptions struct {
	// Snapshot is the file's path.
	Snapshot string
	// DataDir is the directory to create, as in EmbeddedOptions. It must not exist or
	// must be empty.
	DataDir string
	// RevisionBump raises the revision and marks the earlier revisions as compacted. A
	// client that has seen revisions written after the snapshot then gets a
	// CompactedError and lists again. 0 keeps the revision.
	RevisionBump uint64
}

// RestoreSnapshot makes a data directory from a snapshot, with this process as the one
// member of a new etcd cluster. The directory appears only once it is complete.
func RestoreSnapshot(ctx context.Context, opts RestoreOptions) error {
	if err := checkNew(opts.DataDir); err != nil {
		return err
	}
	status, err := ReadSnapshotStatus(opts.Snapshot)
	if err == nil {
		err = notNewer("snapshot", opts.Snapshot, status.Version)
	}
	if err != nil {
		return err
	}
	parent := filepath.Dir(filepath.Clean(opts.DataDir))
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return fmt.Errorf("making the directory to restore to: %w", err)
	}
	part, err := os.MkdirTemp(parent, ".restore-")
	if err != nil {
		return fmt.Errorf("making a directory to restore to: %w", err)
	}
	defer os.RemoveAll(part)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := restoreInto(part, opts); err != nil {
		return err
	}
	// The directory is empty. If it is not any more, Remove fails and so does the
	// rename.
	_ = os.Remove(opts.DataDir)
	if err := os.Rename(part, opts.DataDir); err != nil {
		return fmt.Errorf("giving the restored directory its name: %w", err)
	}
	return nil
}

// checkNew returns an error if the directory is not empty.
func checkNew(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("looking at the directory to restore to: %w", err)
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty: restore to a new directory", dir)
	}
	return nil
}

func restoreInto(dir string, opts RestoreOptions) error {
	setWALSegmentSize()
	err := contained(func(logger *zap.Logger) error {
		return snapshot.NewV3(logger).Restore(snapshot.RestoreConfig{
			SnapshotPath: opts.Snapshot, OutputDataDir: dir,
			Name: memberName, PeerURLs: []string{peerURL}, InitialCluster: memberName + "=" + peerURL, InitialClusterToken: "etcd-cluster",
			RevisionBump: opts.RevisionBump, MarkCompacted: opts.RevisionBump > 0,
		})
	})
	if err != nil {
		return fmt.Errorf("restoring the snapshot %s: %w", opts.Snapshot, err)
	}
	return nil
}

// contained calls f, which would end the process if it finds damaged files, in a
// goroutine of its own: only that goroutine ends, and contained returns the error.
func contained(f func(*zap.Logger) error) error {
	failure := newFailure()
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer failure.recover()
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		err = f(zap.New(&logCore{}, zap.WithFatalHook(failure), zap.WithPanicHook(failure)))
	}()
	<-done
	if broken := failure.get(); broken != nil {
		return broken
	}
	return err
}
