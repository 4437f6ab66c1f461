package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

const (
	// temporaryPattern matches the directories of ephemeral stores.
	temporaryPattern = "minikcm-etcd-*"
	// temporaryLock is the file that a store locks while it is open. The operating
	// system releases the lock when the process ends, even if it is killed.
	temporaryLock = "lock"
)

// makeTemporaryDir returns a path for an ephemeral store and a function that removes
// it. The parent directory exists, the path itself does not. It also removes
// directories left by killed processes.
func makeTemporaryDir() (dir string, remove func() error, err error) {
	parent, err := os.MkdirTemp("", temporaryPattern)
	if err != nil {
		return "", nil, err
	}
	lock, err := lockTemporaryDir(parent)
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("locking %s: %w", parent, err), os.RemoveAll(parent))
	}
	sweepTemporaryDirs(filepath.Dir(parent))
	return filepath.Join(parent, "etcd"), func() error {
		return errors.Join(os.RemoveAll(parent), lock.Close())
	}, nil
}

// lockTemporaryDir creates and locks the lock file under another name and then renames
// it, so that other processes never see it unlocked.
func lockTemporaryDir(dir string) (*fileutil.LockedFile, error) {
	making := filepath.Join(dir, temporaryLock+".new")
	lock, err := fileutil.TryLockFile(making, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := os.Rename(making, filepath.Join(dir, temporaryLock)); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// sweepTemporaryDirs removes the directories of processes that have ended. Other
// processes may do the same concurrently; errors are ignored because nothing depends on
// the removal.
func sweepTemporaryDirs(in string) {
	found, err := filepath.Glob(filepath.Join(in, temporaryPattern))
	if err != nil {
		return
	}
	for _, dir := range found {
		// A directory without a lock file is just being created, or is not ours.
		lock, err := fileutil.TryLockFile(filepath.Join(dir, temporaryLock), os.O_RDWR, 0o600)
		if err != nil {
			continue
		}
		_ = os.RemoveAll(dir)
		_ = lock.Close()
	}
}
