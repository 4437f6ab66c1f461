//go:build !linux

package store

// freeBytes is not implemented on this platform.
func freeBytes(string) (int64, bool) { return 0, false }
