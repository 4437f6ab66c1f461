// Package minikcmtest gives a test a cluster of its own: New starts one in the
// test's process and takes it down when the test ends. Clusters of parallel tests
// share nothing, use no fixed port, and leave no goroutine and no file behind. The
// package ctrltest runs managers of controller-runtime on a test's cluster.
package minikcmtest
