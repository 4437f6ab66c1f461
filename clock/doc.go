// Package clock holds the cluster's time, its randomness, and the ledger of what
// is in flight. Nothing else in the process asks the machine for the time or for
// a random number. The real clock is the machine's; the scaled clock runs N
// times faster; the virtual clock stands still while anything is in flight
// according to the Ledger, and jumps to the next timer only when somebody waits
// on it.
package clock
