// Package nodelifecycle is the node-lifecycle-controller: it notices nodes that have
// gone silent, says so in their conditions, and taints nodes by their conditions.
//
// A node is heard of when its Lease is renewed or its status is posted. One that
// is not heard of for the grace period becomes Ready=Unknown at the next pass: passes are 5 s
// apart, as upstream's are, so that nodes lost together are judged together, but a
// pass in which no node is due costs nothing. Its pods are then marked not ready,
// and it is tainted NoSchedule at once and NoExecute when its zone's turn comes (zones.go):
// one node each 10 s, fewer when many of the zone are lost, and none when all are, as
// then it is more likely the network that was lost.
//
// What is to be done about a node is a pure function (decide.go).
package nodelifecycle
