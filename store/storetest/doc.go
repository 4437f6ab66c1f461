// Package storetest holds what every store.Store has to pass: Run, the one suite;
// validators, each named for a guarantee of watches, which other layers apply to
// their own streams; and an etcd server for tests of stores that dial one.
package storetest
