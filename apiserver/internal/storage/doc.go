// Package storage stores the objects of one resource: it encodes them in upstream's
// layout in etcd, writes them by compare-and-put, announces its writes to the watch
// cache so that they are not decoded again, and retries updates after conflicts. The
// objects that it returns are shared and must not be modified.
package storage
