// Package inventory knows the published devices, what is allocated of them, and what the last searches on each node
// have found. An Inventory belongs to the deciding goroutine. Its cost follows what changes: an allocation changes
// what is known of the nodes that its pool is published for, and a search costs what the slices of its node cost, or
// nothing if nothing has changed there since an equal search.
package inventory
