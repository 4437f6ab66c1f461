//go:build unix

package memfs

import "syscall"

// Sys returns owner and access time for shells. Root owns everything.
func (i info) Sys() any { return &syscall.Stat_t{} }
