// Package inflight counts the work that is in flight in one cluster, and is the only
// one that does. Virtual time stands still while the ledger counts anything, and where
// work takes turns, one piece of it is done at a time.
package inflight
