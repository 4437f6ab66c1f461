// Package replicationcontroller is the replicationcontroller-controller. It views a
// ReplicationController as a ReplicaSet whose selector is a set of labels, and leaves the
// decisions to package replicaset.
package replicationcontroller
