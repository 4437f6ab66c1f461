// Package memfs is the files of simulated containers: trees of directories, files and
// symbolic links that live in memory, and views that put several trees together as
// mounts do. All trees of one Space share a lock, a clock and a limit of bytes, so that
// containers and pods can share volumes. Errors are those of the os package.
package memfs
