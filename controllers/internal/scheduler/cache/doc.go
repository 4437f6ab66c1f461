// Package cache is the scheduler's view of the cluster. It counts a pod on its node from the
// decision on, before the binding is written, so that no node is given more than it has,
// whatever is decided in the meantime. Snapshots of it are brought up to date at a cost that
// depends on what changed.
package cache
