package store

import "syscall"

// freeBytes is how much room there is where dir is, for who is not the superuser.
func freeBytes(dir string) (int64, bool) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0, false
	}
	return int64(stat.Bavail) * stat.Bsize, true // no disk is as large
}
