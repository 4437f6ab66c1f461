// Package minikcmtest starts clusters for tests. New starts a cluster in the test's process
// and stops it when the test ends. Clusters of parallel tests share nothing, use no fixed
// port, and leave no goroutines and no files behind. Methods of Cluster create what an operator
// needs, wait for the cluster's reactions, and report on objects when a test fails; Golden
// compares objects with files. The package ctrltest runs
// controller-runtime managers on such a cluster.
package minikcmtest
