package store

import "syscall"

// freeBytes returns the free space on the file system of dir, in bytes, that an
// unprivileged user may use.
func freeBytes(dir string) (int64, bool) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0, false
	}
	return int64(stat.Bavail) * stat.Bsize, true // no file system is large enough to overflow int64
}
