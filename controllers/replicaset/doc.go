// Package replicaset is the replicaset-controller: as many pods of a template as
// the ReplicaSet asks for, and its status. What is to be done is decided by the
// pure function Decide; the controller gathers its snapshot and executes its plan.
// Owners of other kinds that can be seen as ReplicaSets are kept by the same
// decisions (Owners).
package replicaset
