package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// errLocked means that another process has locked a file.
var errLocked = errors.New("another process has locked it")

const (
	// temporaryPattern matches the directories of ephemeral stores.
	temporaryPattern = "minikcm-etcd-*"
	// temporaryLock is the file that a store locks while it is open. The operating
	// system releases the lock when the process ends, even if it is killed.
	temporaryLock = "lock"
	// temporaryStore is the directory of the store itself.
	temporaryStore = "etcd"
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
	return filepath.Join(parent, temporaryStore), func() error {
		return removeLocked(parent, lock)
	}, nil
}

// lockTemporaryDir creates and locks the lock file under another name and then renames
// it, so that other processes never see it unlocked.
func lockTemporaryDir(dir string) (io.Closer, error) {
	making := filepath.Join(dir, temporaryLock+".new")
	lock, err := openLocked(making, true)
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
		lock, err := openLocked(filepath.Join(dir, temporaryLock), false)
		if err != nil {
			continue
		}
		_ = removeLocked(dir, lock)
	}
}

// removeLocked removes the directory of a store whose lock this process has: the store first. Not
// every system can remove the lock file while it is open.
func removeLocked(dir string, lock io.Closer) error {
	return errors.Join(os.RemoveAll(filepath.Join(dir, temporaryStore)), lock.Close(), os.RemoveAll(dir))
}
