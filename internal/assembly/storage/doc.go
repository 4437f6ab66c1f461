// Package storage opens the store of a cluster, watches over its failure, and reads, restores and
// repairs the data directories and snapshots of clusters that do not run.
package storage
