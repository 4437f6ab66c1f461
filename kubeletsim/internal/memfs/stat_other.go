//go:build !unix

package memfs

// Sys returns nil.
func (i info) Sys() any { return nil }
