package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// errorSharingViolation is ERROR_SHARING_VIOLATION of the Windows API, which package syscall does
// not have.
const errorSharingViolation syscall.Errno = 32

// openLocked opens a file so that no other process can open it until the lock is closed or this
// process ends. The file can be renamed meanwhile. While another process has it, the error is
// errLocked.
func openLocked(path string, mayCreate bool) (io.Closer, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	disposition := uint32(syscall.OPEN_EXISTING)
	if mayCreate {
		disposition = syscall.OPEN_ALWAYS
	}
	handle, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_DELETE, nil, disposition, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	switch {
	case errors.Is(err, errorSharingViolation):
		return nil, fmt.Errorf("%s: %w", path, errLocked)
	case err != nil:
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return os.NewFile(uintptr(handle), path), nil
}
