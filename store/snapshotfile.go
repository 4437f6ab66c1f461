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

// SnapshotStatus tells what a snapshot holds.
type SnapshotStatus struct {
	// Hash is the CRC-32 (Castagnoli) of all keys and values, as etcdutl tells it.
	Hash uint32 `json:"hash"`
	// Revision is the newest one.
	Revision int64 `json:"revision"`
	// TotalKeys is how many keys exist at that revision.
	TotalKeys int `json:"totalKey"`
	// TotalSize is the size of the database, in bytes.
	TotalSize int64 `json:"totalSize"`
	// Version is the version of etcd's that the database is laid out for; empty
	// before 3.6.
	Version string `json:"version"`
}

// SaveSnapshot writes to a new file what fill writes, and returns what it holds. The
// file exists under its name only when it is complete, its hash is right, and it is
// on the disk. One that exists already is never replaced.
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

// ReadSnapshotStatus checks the snapshot's hash and every page of its database, and
// returns what it holds. It changes nothing.
func ReadSnapshotStatus(path string) (SnapshotStatus, error) {
	if err := verifySnapshot(path); err != nil {
		return SnapshotStatus{}, err
	}
	var status snapshot.Status
	err := contained(func(logger *zap.Logger) (err error) {
		// The check that follows ends the process when pages are missing.
		if _, err = verifyDatabase(path); err != nil {
			return err
		}
		status, err = snapshot.NewV3(logger).Status(path)
		return err
	})
	if err != nil {
		return SnapshotStatus{}, fmt.Errorf("%s is no sound snapshot: %w", path, err)
	}
	return SnapshotStatus{
		Hash: status.Hash, Revision: status.Revision, TotalKeys: status.TotalKey, TotalSize: status.TotalSize, Version: status.Version,
	}, nil
}

// sectorSize is what the size of a database is a multiple of, whatever the pages' size.
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
		return fmt.Errorf("%s is no snapshot: it is not a regular file", path)
	}
	database := info.Size() - sha256.Size
	if database <= 0 || database%sectorSize != 0 {
		return fmt.Errorf("%s is no snapshot, or not a whole one: no hash follows its database (it may be the file member/snap/db of a data directory: of that, save a snapshot with --data-dir)", path)
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
		return fmt.Errorf("the snapshot %s is damaged: its SHA-256 is %x, but %x was written down", path, hash.Sum(nil), want)
	}
	return nil
}

// RestoreOptions say how a snapshot becomes a data directory.
type RestoreOptions struct {
	// Snapshot is the file's path.
	Snapshot string
	// DataDir is the directory to make, of EmbeddedOptions. It must not exist, or be
	// empty.
	DataDir string
	// RevisionBump is by how much the revision is raised. Whoever has seen later
	// revisions than the snapshot's, from what was written after it, is then told
	// that they are compacted, and begins anew. 0 leaves the revision as it was.
	RevisionBump uint64
}

// RestoreSnapshot makes a data directory of a snapshot, as the one member of a new
// etcd cluster. The directory exists only when it is complete.
func RestoreSnapshot(ctx context.Context, opts RestoreOptions) error {
	if err := checkNew(opts.DataDir); err != nil {
		return err
	}
	if _, err := ReadSnapshotStatus(opts.Snapshot); err != nil {
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
	// It is empty, or else it stays and the next step fails.
	_ = os.Remove(opts.DataDir)
	if err := os.Rename(part, opts.DataDir); err != nil {
		return fmt.Errorf("giving the restored directory its name: %w", err)
	}
	return nil
}

// checkNew refuses a directory that has something in it.
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

// contained runs what ends the process when it finds files damaged, where that ends
// no more than a goroutine.
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
