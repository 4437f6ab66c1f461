// Package box runs commands as they would run within a container, without running
// anything: a shell (mvdan.cc/sh) and some fifty small programs, after the manner of
// BusyBox, work on files in memory, on the cluster's clock, and on the streams of
// whoever started the command. Nothing of the machine that the process runs on can be
// seen or changed from within, but that pipes of the shell take file descriptors.
//
// A command counts in the ledger while it works. While any part of it sleeps or waits for
// input that has not come, it does not, so that an open shell does not hold virtual time.
package box
