// Package store keeps bytes under keys with a history of int64 revisions: get, list,
// compare-and-put, compare-and-delete, watch from a revision, compact. It knows nothing
// of Kubernetes. Three implementations pass one suite (internal/storetest): an etcd
// embedded in this process, an external etcd, and an in-memory model. On virtual time
// with turns, the embedded one can be etcd's storage without its raft log.
package store
