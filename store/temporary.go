package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

const (
	// temporaryPattern names the directories of ephemeral stores.
	temporaryPattern = "minikcm-etcd-*"
	// temporaryLock is locked while the store lives, by the system: the lock ends
	// with the process, however that ends.
	temporaryLock = "lock"
)

// makeTemporaryDir returns a directory for an ephemeral store, which does not exist
// yet and whose parent does, and what removes both. It sweeps away what killed
// processes have left.
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

// lockTemporaryDir locks the file before it has the name that others look for.
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

// sweepTemporaryDirs removes the directories whose processes are no more. Others may
// sweep at the same time, and what cannot be removed stays: nothing depends on it.
func sweepTemporaryDirs(in string) {
	found, err := filepath.Glob(filepath.Join(in, temporaryPattern))
	if err != nil {
		return
	}
	for _, dir := range found {
		// A directory without a lock file has just been made, or is not ours.
		lock, err := fileutil.TryLockFile(filepath.Join(dir, temporaryLock), os.O_RDWR, 0o600)
		if err != nil {
			continue
		}
		_ = os.RemoveAll(dir)
		_ = lock.Close()
	}
}
