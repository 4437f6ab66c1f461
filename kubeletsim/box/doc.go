// Package box runs commands as they would run within a container, without running anything
// on the host: a shell (mvdan.cc/sh) and some fifty small programs in the manner of BusyBox
// work on files in memory, on the cluster's clock, and on the caller's streams. A command
// can neither see nor change the host; only pipes of the shell take file descriptors of it.
//
// A command counts in the ledger while it works. It does not count while any part of it
// sleeps or waits for input, so that an open shell does not hold virtual time.
package box
