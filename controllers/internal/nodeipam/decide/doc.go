// Package decide assigns pod networks to nodes. Networks records which node holds which network,
// and hands out a network of each of the cluster's ranges to a node that has none. It guarantees
// that a network that it hands out overlaps no network that is held, and that a network which was
// given back is handed out again last.
//
//minikcm:pure
package decide
