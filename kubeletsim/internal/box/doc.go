// Package box runs commands as they would run within a container, without running anything
// on the host: a shell (package shell) and a hundred small programs in the manner of BusyBox
// work on files in memory, on the cluster's clock, and on the caller's streams. A command
// can neither see nor change the host. Machine.Memory and Machine.Share bound what it uses of
// the host: a command that needs more memory is killed, and every program checks its context
// and its turn for each block of data.
//
// A command counts in the ledger while it works. It does not count while any part of it
// sleeps or waits for input, so that an open shell does not hold virtual time.
package box
