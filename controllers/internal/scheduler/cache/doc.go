// Package cache is the scheduler's view of the cluster. It counts a pod on its node from the
// decision on, before the binding is written, so that no node is given more than it has,
// whatever is decided in the meantime. Updating a snapshot costs in proportion to the changes.
package cache
