// Package replicasettest builds ReplicaSets and pods for the tests of the ReplicaSet controller
// and of its decisions.
package replicasettest
