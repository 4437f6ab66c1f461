// Package powercut cuts the power of a "minikcm up --data-dir" while clients write. Its data
// directory is on a file system in user space (FUSE) that knows which pages were written
// since the last fsync of their file. A cut kills the process and takes back all of these
// pages, or a random part of them, as a disk with a write cache would. Then minikcm is started on
// what is left, and each acknowledged write must be there.
//
// The same file system can fail an fsync or a write, or write less than requested.
//
// The names of files (creations, renames, removals) are durable at once. The package needs
// Linux, /dev/fuse and the right to mount. It is a module of its own, so that minikcm does not depend
// on a FUSE library.
package powercut
