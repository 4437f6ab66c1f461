// Package clock provides the cluster's time, its randomness, and the ledger of work in flight.
// No other package reads the machine's clock or a global random source. The real clock is the
// machine's. The scaled clock runs N times faster. The virtual clock stands still while the
// ledger counts any work, and jumps to the next timer only during Advance and Wait.
package clock
