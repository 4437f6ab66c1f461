// Package memfs holds the files of simulated containers: trees of directories, files and
// symbolic links in memory, and views that combine several trees as mounts do. All trees of one
// Space share a lock, a clock and a limit of bytes, so that containers and pods can share
// volumes. A tree counts the bytes that have been written into it (Written), and can be limited. Errors are the
// same as in package os.
package memfs
