// Package inventory tracks the published devices, their allocations, and the results of the last searches on each
// node. An Inventory belongs to the deciding goroutine. Its cost depends on the changes: an allocation invalidates
// the results for the nodes that its pool is published for, and a search costs in proportion to the slices of its
// node, or nothing if nothing has changed there since an equal search.
package inventory
