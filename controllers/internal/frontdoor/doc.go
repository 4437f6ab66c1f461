// Package controllers has the tests of controllers through the front door: a cluster, and
// clients that create objects and check the results. A file is named for its
// controller; manager_*_test.go test the manager that runs them all. The tests of a controller's
// decisions stand beside its code, and so do those through the front door that share objects
// with them.
//
// They are one package because each test binary with a cluster takes ten seconds of
// processor time to link.
package controllers
