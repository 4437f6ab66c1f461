// Package replicaset is the replicaset-controller: it keeps the wanted number of pods of a
// template for each ReplicaSet, and its status. The pure package decide decides; the
// controller gathers its snapshot and executes its plan. The same decisions apply to owners
// of other kinds that can be viewed as ReplicaSets (Owners).
package replicaset
