//go:build !unix

package memfs

// Sys says nothing more.
func (i info) Sys() any { return nil }
