// Package replicationcontroller is the replicationcontroller-controller. A
// ReplicationController is seen as a ReplicaSet whose selector is a set of labels,
// and kept by the decisions of package replicaset; nothing is decided here.
package replicationcontroller
