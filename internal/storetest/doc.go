// Package storetest tests implementations of store.Store: Run is the suite; validators,
// each named for one guarantee of watches, are also applied by other layers to their
// own streams; NewEtcd starts an etcd server for tests of stores that dial one.
package storetest
