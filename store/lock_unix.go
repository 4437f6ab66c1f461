//go:build unix

package store

import (
	"errors"
	"io"
	"os"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// openLocked opens and locks a file until the lock is closed or this process ends. The file can be
// renamed meanwhile. While another process has it, the error is errLocked.
func openLocked(path string, mayCreate bool) (io.Closer, error) {
	flags := os.O_RDWR
	if mayCreate {
		flags |= os.O_CREATE
	}
	lock, err := fileutil.TryLockFile(path, flags, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, errLocked
	}
	if err != nil {
		return nil, err // not lock, a nil pointer
	}
	return lock, nil
}
