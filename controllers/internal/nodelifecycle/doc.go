// Package nodelifecycle is the node-lifecycle-controller: it detects nodes whose heartbeats
// have stopped, sets their conditions, and taints nodes by their conditions.
//
// A heartbeat is a renewal of the node's Lease or an update of its status. A node without a
// heartbeat for the grace period becomes Ready=Unknown at the next pass: passes are 5 s
// apart, as upstream's, so that nodes lost together are judged together, but a pass in
// which no node is due costs nothing. The controller then marks the node's pods not ready.
// It taints the node NoSchedule at once, and NoExecute when its zone allows it:
// one node per 10 s, fewer if many nodes of the zone are lost, and none if all are, because
// a failure of the network is then more likely.
//
// The pure package decide decides about a node, and whether its zone allows an eviction.
package nodelifecycle
