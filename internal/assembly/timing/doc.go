// Package timing makes the clock of a cluster, with the ledger of the work in flight and the source
// of chance that belong to it. It is the first stage of the assembly of a cluster, and needs no other.
package timing
