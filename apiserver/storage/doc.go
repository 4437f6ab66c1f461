// Package storage keeps the objects of one resource: it encodes them as upstream
// lays them out in etcd, writes them by compare-and-put, tells the watch cache
// what it wrote so that nothing has to be decoded twice, and retries updates that
// met a newer object. What it returns is shared and must not be changed.
package storage
